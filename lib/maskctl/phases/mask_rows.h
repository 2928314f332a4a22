// The rows of a plane, all at hand, as runs.
#pragma once

#include <span>
#include <vector>

#include "maskctl/mask/plane.h"

namespace maskctl {

class MaskRows {
 public:
  /// Throws Error(kLimit) for more than 2^26 runs.
  explicit MaskRows(const Plane& plane);
  std::span<const Run> row(Index q) const {
    return std::span(runs_).subspan(first_[as_size(q)], count_[as_size(q)]);
  }
  bool open(Index q, Index k) const;

 private:
  std::vector<Run> runs_;
  std::vector<std::uint32_t> first_, count_;
};

/// The smallest number that is in one of two ascending lists of runs alone, or -1.
Index first_difference(std::span<const Run> a, std::span<const Run> b);
/// Whether ascending runs have a number.
bool holds(std::span<const Run> runs, Index number);
/// Appends [begin, end), which begins where the last run ends or after it.
void append_run(Index begin, Index end, std::vector<Run>& runs);

}  // namespace maskctl
