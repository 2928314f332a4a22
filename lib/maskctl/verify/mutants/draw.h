// The random choices of one mutant; private to mutants.
#pragma once

#include <random>

#include "maskctl/base/index.h"

namespace maskctl::attention {

/// A stream of choices. Equal seeds give equal choices on every machine.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : numbers_(seed) {}

  /// A number from 0 to n - 1; n is at least 1.
  Index below(Index n) { return static_cast<Index>(numbers_() % static_cast<std::uint64_t>(n)); }
  /// A number from `low` to `high`, both included.
  Index between(Index low, Index high) { return low + below(high - low + 1); }
  bool coin() { return below(2) == 1; }
  template <typename List>
  auto& of(const List& choices) {
    return choices[as_size(below(static_cast<Index>(choices.size())))];
  }

 private:
  std::mt19937_64 numbers_;
};

}  // namespace maskctl::attention
