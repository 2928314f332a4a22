// Transposes arrays between the layouts [B,T,H,D] and [B,H,T,D].
#pragma once

#include <optional>
#include <string>

#include "maskctl/attention/calls/by_name.h"
#include "maskctl/verify/probe.h"

namespace maskctl::app {

/// The layout that the operation expects: [B,H,T,D] if its first array has the axes in this order,
/// else [B,T,H,D].
attention::Layout own_layout(const attention::Operation& operation);

/// Transposes an argument ("key", "cotangent_out") or a result ("out", "grad_key") from `layout` to
/// the operation's layout, or back, which is the same. Returns the array unchanged if it does not
/// have both heads and time, or if `layout` is absent or already the operation's.
Tensor transposed(const attention::Operation& operation, const std::string& name, Tensor tensor,
                  std::optional<attention::Layout> layout);

}  // namespace maskctl::app
