// Reads a SOURCE together with what the library's check() needs to know about it.
#pragma once

#include <string>

#include "app/session/loader.h"
#include "maskctl/inspect/check/check.h"

namespace maskctl::app {

struct CheckedSource {
  LoadedMask loaded;    // its mask has no cells if the arrays are too wrong to make one
  CheckedMask checked;  // before all steps, and without declared documents
};

/// Reads the SOURCE like loader.read(), except that position ids and cu_seqlens which no mask can
/// be made from are no error: check() says what is wrong with them.
CheckedSource read_checked(const std::string& name, Loader& loader, RowsSink rows_read = {});

}  // namespace maskctl::app
