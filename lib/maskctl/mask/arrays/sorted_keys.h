// Sorts short lists of keys, of which an array of lists has a million.
#pragma once

#include <cstdint>
#include <vector>

namespace maskctl {

/// Sorts lists one after another, in memory that it keeps.
class KeySorter {
 public:
  /// Sorts keys that are not negative.
  void operator()(std::vector<std::int32_t>& keys);

 private:
  void by_ranks(std::vector<std::int32_t>& keys);
  void by_digits(std::vector<std::int32_t>& keys);

  std::vector<std::int32_t> ranks_, moved_;
};

}  // namespace maskctl
