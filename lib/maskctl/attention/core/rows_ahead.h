// Rows of memory that are asked for while products run.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "maskctl/base/index.h"

namespace maskctl::attention {

/// Rows that will soon be read or written, brought into the second-level cache a few lines at a
/// time: one head's rows lie apart, so that no hardware foresees them. Wrong guesses cost time
/// alone.
class RowsAhead {
 public:
  void clear() { count_ = at_ = 0; }
  /// `count` rows of n floats, `stride` floats apart; nothing when count <= 0. At most kMost calls
  /// after clear(); they are served in order.
  void ask(const float* row, Index stride, Index count, Index n) {
    if (count > 0) asked_[count_++] = {row, stride, count, n};
  }
  /// Fetches as many lines as arrive during a product of six rows, two vectors and this depth.
  void step(Index depth) {
    for (Index lines = depth / kDepthOfLine; lines > 0 && at_ < count_; --lines) fetch_line();
  }

  static constexpr std::size_t kMost = 4;

 private:
  static constexpr Index kDepthOfLine = 5, kLine = 16;  // a line holds 16 floats
  struct Rows {
    const float* row = nullptr;
    Index stride = 0, count = 0, n = 0, next = 0;
  };

  void fetch_line() {
    Rows& rows = asked_[at_];
    __builtin_prefetch(rows.row + rows.next, 0, 2);
    rows.next += kLine;
    if (rows.next < rows.n) return;
    rows.row += rows.stride;
    rows.next = 0;
    if (--rows.count == 0) ++at_;
  }

  std::array<Rows, kMost> asked_;
  std::size_t count_ = 0, at_ = 0;
};

}  // namespace maskctl::attention
