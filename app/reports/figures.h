// How numbers and places are printed.
#pragma once

#include <string>

#include "maskctl/base/index.h"
#include "maskctl/mask/cell.h"

namespace maskctl::app {

/// "12.55 %"; "0 %" and "100 %" only if exact, so that a single cell is never rounded away.
std::string percent(Index part, Index whole);
/// "batch 0, head 0, query 17, key 3".
std::string cell_text(const Cell& cell);
/// "1.5 MiB".
std::string bytes_text(Index bytes);

}  // namespace maskctl::app
