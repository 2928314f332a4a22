// Reads what --json of the command kit printed before.
#pragma once

#include <string>

#include "app/reports/kit_report.h"

namespace maskctl::app {

/// Throws Error(kFormat) for a file that is no maskctl.kit/1, Error(kInvalidArgument) for one of
/// another dtype, and what reading throws.
KitBaseline read_kit_baseline(const std::string& path, DType dtype);

}  // namespace maskctl::app
