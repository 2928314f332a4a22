// Arrays whose heads stand before time, or after, for operations that want the other.
#pragma once

#include <optional>
#include <string>

#include "maskctl/attention/by_name.h"
#include "maskctl/attention/verify/probe.h"

namespace maskctl::app {

/// The layout that an operation takes: [B,H,T,D] where its first array says so.
attention::Layout own_layout(const attention::Operation& operation);

/// An argument ("key", "cotangent_out") or result ("out", "grad_key") turned from `layout` to the
/// operation's, or back, which is the same; those without an axis of heads beside time, and all
/// where `layout` is absent or the operation's own, stay.
Tensor turned(const attention::Operation& operation, const std::string& name, Tensor tensor,
              std::optional<attention::Layout> layout);

}  // namespace maskctl::app
