// Causes that need all planes of two masks; private to inspect.
#pragma once

#include <optional>

#include "maskctl/inspect/diff.h"

namespace maskctl {

/// Polarity, query and key swapped, heads or batches in another order, one head for all.
std::optional<DiffCause> whole_cause(const Mask& a, const Mask& b);

}  // namespace maskctl
