// Distributions of the number of keys that rows see; private to the inspect layer.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "maskctl/base/index.h"

namespace maskctl {

/// `rows` rows see `keys` keys each.
struct LengthGroup {
  Index keys = 0;
  Index rows = 0;
};

/// How many rows have which length: a histogram up to the longest, or a list if rows are few. May
/// be shared by threads, each of which adds through a LengthBatch.
class LengthCounts {
 public:
  LengthCounts(Index rows, Index keys) : few_rows_(keys / 4 > rows) {}
  void add(std::span<const LengthGroup> groups);
  /// In ascending order of keys, each number once.
  std::vector<LengthGroup> groups();

 private:
  bool few_rows_;
  std::mutex mutex_;
  std::vector<std::int32_t> histogram_;
  std::vector<LengthGroup> list_;
};

/// Collects the lengths of one task's rows before they are counted, merging equal neighbours.
class LengthBatch {
 public:
  explicit LengthBatch(LengthCounts& counts) : counts_(counts) {}
  void add(Index keys, Index rows) {
    if (keys != keys_) next(keys);
    rows_ += rows;
  }
  /// Call after the last row.
  void flush();

 private:
  void next(Index keys);

  LengthCounts& counts_;
  Index keys_ = 0, rows_ = 0;  // the last group, not yet in the list
  std::vector<LengthGroup> groups_;
};

/// Merges two distributions, counting b `times` times.
std::vector<LengthGroup> merge_groups(const std::vector<LengthGroup>& a,
                                      const std::vector<LengthGroup>& b, Index times);
/// The median number of keys (the mean of both middle rows if rows are even); 0 without rows.
double median(const std::vector<LengthGroup>& groups);

}  // namespace maskctl
