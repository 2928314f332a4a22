// Sets of positions that are joined one by one; private to inspect.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

namespace maskctl::recognition {

class JoinedSets {
 public:
  explicit JoinedSets(std::size_t size) : parent_(size) {
    std::iota(parent_.begin(), parent_.end(), std::uint32_t{0});
  }
  /// The position that stands for the set of this one.
  std::uint32_t root(std::size_t at) {
    auto i = static_cast<std::uint32_t>(at);
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(std::size_t a, std::size_t b) { parent_[root(b)] = root(a); }

 private:
  std::vector<std::uint32_t> parent_;
};

}  // namespace maskctl::recognition
