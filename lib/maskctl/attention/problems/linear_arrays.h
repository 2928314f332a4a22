// What linear attention has for each of its arrays.
#pragma once

#include <optional>

namespace maskctl::attention {

/// One member for each array of a call: its gradient, room for its gradient, or its numbers.
template <class Needed, class Optional = std::optional<Needed>>
struct LinearArrays {
  Needed query, key, value;
  Optional g, g_gamma, gk, gv, initial_state;  // under either name
};

}  // namespace maskctl::attention
