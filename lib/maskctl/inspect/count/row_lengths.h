// Distributions of the number of keys that rows see; private to the inspect layer.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "maskctl/base/index.h"

namespace maskctl {

/// `rows` rows that see `keys` keys each.
struct LengthGroup {
  Index keys = 0;
  Index rows = 0;
};

/// Counts rows by the number of keys that they see: as a histogram, or as a list if there are few
/// rows. Threads may share it; each adds through a LengthBatch of its own.
class LengthCounts {
 public:
  LengthCounts(Index rows, Index keys) : few_rows_(keys / 4 > rows) {}
  void add(std::span<const LengthGroup> groups);
  /// The groups in ascending order of keys. Each number of keys occurs once.
  std::vector<LengthGroup> groups();

 private:
  bool few_rows_;
  std::mutex mutex_;
  std::vector<std::int32_t> histogram_;
  std::vector<LengthGroup> list_;
};

/// Collects the lengths of one task's rows before they are counted, and merges equal neighbours.
class LengthBatch {
 public:
  explicit LengthBatch(LengthCounts& counts) : counts_(counts) {}
  void add(Index keys, Index rows) {
    if (keys != keys_) next(keys);
    rows_ += rows;
  }
  /// Adds the collected lengths to the counts. Must be called after the last row.
  void flush();

 private:
  void next(Index keys);

  LengthCounts& counts_;
  Index keys_ = 0, rows_ = 0;  // the last group, not yet in the list
  std::vector<LengthGroup> groups_;
};

/// Merges two distributions; b counts `times` times.
std::vector<LengthGroup> merge_groups(const std::vector<LengthGroup>& a,
                                      const std::vector<LengthGroup>& b, Index times);
/// The median number of keys (the mean of the two middle rows if their number is even); 0 without
/// rows.
double median(const std::vector<LengthGroup>& groups);

}  // namespace maskctl
