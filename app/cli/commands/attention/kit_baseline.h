// Reads what --json of the command kit printed before.
#pragma once

#include <string>

#include "app/reports/kit_report.h"

namespace maskctl::app {

/// The baseline in a file, and what is to be said of it to who asks this library. Throws
/// Error(kFormat) for a file that is no maskctl.kit/1 or has a case twice, Error(kInvalidArgument)
/// for one of another dtype, and what reading throws.
KitBaseline read_kit_baseline(const std::string& path, DType dtype, const std::string& library);

}  // namespace maskctl::app
