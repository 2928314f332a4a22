// Arrays whose heads stand before time, or after, for operations that want the other.
#pragma once

#include <optional>
#include <string>

#include "maskctl/attention/named/operations.h"
#include "maskctl/attention/verify/probe.h"

namespace maskctl::app {

/// The layout that an operation takes: [B,H,T,D] where its first array says so.
attention::Layout own_layout(const attention::NamedOperation& operation);

/// Transposes an argument ("key", "cotangent_out") or result ("out", "grad_key") between `layout`
/// and the operation's; both directions are the same. Arrays without axes of heads and time stay,
/// and so do all when `layout` is absent or the operation's own.
Tensor turned(const attention::NamedOperation& operation, const std::string& name, Tensor tensor,
              std::optional<attention::Layout> layout);

}  // namespace maskctl::app
