// Causes that need all planes of two masks; private to inspect.
#pragma once

#include <optional>

#include "maskctl/inspect/diff.h"

namespace maskctl {

/// Polarity, query and key swapped, heads or batches in another order, one head for all. `found` is
/// diff(a, b).
std::optional<DiffCause> whole_cause(const Mask& a, const Mask& b, const MaskDiff& found);

}  // namespace maskctl
