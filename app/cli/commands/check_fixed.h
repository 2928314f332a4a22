// Writes the mask that `check --write-fixed` made.
#pragma once

#include <string>

#include "app/reports/check_report.h"
#include "app/session/options.h"
#include "app/session/session.h"
#include "maskctl/inspect/check/fix.h"
#include "maskctl/io/masks/mask_io.h"

namespace maskctl::app {

/// Writes what was fixed to `dest`, as the kind of array that was read, or as a dense one if that
/// kind cannot hold it; nothing if nothing was fixed. `loaded` is the SOURCE, read as `how` says.
FixedReport write_fixed(FixResult fixed, const LoadedMask& loaded, const SourceOptions& how,
                        const std::string& dest, bool force, Session& session);

}  // namespace maskctl::app
