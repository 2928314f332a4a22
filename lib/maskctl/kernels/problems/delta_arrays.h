// A struct with one member for each array of the gated delta rule.
#pragma once

#include <optional>

namespace maskctl::attention {

/// One member for each array of a call; the type says what it holds: an input, a gradient, or
/// values.
template <class Needed, class Optional = std::optional<Needed>>
struct DeltaArrays {
  Needed query, key, value, beta;
  Optional g, initial_state;
};

}  // namespace maskctl::attention
