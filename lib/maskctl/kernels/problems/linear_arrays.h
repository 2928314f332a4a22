// A struct with one member for each array of linear attention.
#pragma once

#include <optional>

namespace maskctl::attention {

/// One member for each array of a call; the type says what it holds: an input, a gradient, or
/// values.
template <class Needed, class Optional = std::optional<Needed>>
struct LinearArrays {
  Needed query, key, value;
  /// initial_state is the array that the call gives as initial_state or as `state`.
  Optional g, g_gamma, gk, gv, initial_state;
};

}  // namespace maskctl::attention
