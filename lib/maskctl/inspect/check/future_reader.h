// Reads the rows of a plane for future_of(); private to inspect.
#pragma once

#include <span>

#include "maskctl/inspect/check/future.h"

namespace maskctl {

/// The numbers of groups, and of cells in no group, of a plane without its global tokens. `full`:
/// the rows that saw every key before these tokens were removed. `global`: the keys of these
/// tokens.
Future read_future(const PlanePtr& plane, std::span<const Range> full,
                   std::span<const Range> global);

}  // namespace maskctl
