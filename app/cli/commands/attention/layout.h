// Arrays with heads before or after time, for operations that require the other order.
#pragma once

#include <optional>
#include <string>

#include "maskctl/attention/by_name.h"
#include "maskctl/attention/verify/probe.h"

namespace maskctl::app {

/// The layout of an operation: [B,H,T,D] if its first array is declared so.
attention::Layout own_layout(const attention::Operation& operation);

/// Transposes an argument ("key", "cotangent_out") or result ("out", "grad_key") between `layout`
/// and the operation's; both directions are the same. Arrays without axes of heads and time stay,
/// and so do all when `layout` is absent or the operation's own.
Tensor transposed(const attention::Operation& operation, const std::string& name, Tensor tensor,
                  std::optional<attention::Layout> layout);

}  // namespace maskctl::app
