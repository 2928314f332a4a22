// Rows of memory that are asked for while products run.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "maskctl/base/index.h"

namespace maskctl::attention {

/// Rows that will soon be read or written, brought into the second-level cache one by one: one
/// head's rows lie apart, so that no hardware foresees them. Wrong guesses cost time alone.
class RowsAhead {
 public:
  void clear() { count_ = at_ = 0; }
  /// `count` rows of n floats, `stride` floats apart; nothing when count <= 0. At most kMost calls
  /// after clear(); they are served in order.
  void ask(const float* row, Index stride, Index count, Index n) {
    if (count > 0) asked_[count_++] = {row, row + count * stride, stride, n};
  }
  /// Fetches what arrives during a product of six rows, two vectors and this depth.
  void step(Index depth) {
    for (Index floats = depth * kFloatsOfDepth; floats > 0 && at_ < count_;) {
      Rows& rows = asked_[at_];
      const float* row = rows.next;
      for (; floats > 0 && row != rows.end; row += rows.stride, floats -= rows.n) {
        for (Index x = 0; x < rows.n; x += kLine) __builtin_prefetch(row + x, 0, 2);
      }
      rows.next = row;
      if (row == rows.end) ++at_;
    }
  }

  static constexpr std::size_t kMost = 4;

 private:
  static constexpr Index kFloatsOfDepth = 6, kLine = 16;  // a line holds 16 floats
  struct Rows {
    const float *next = nullptr, *end = nullptr;
    Index stride = 0, n = 0;
  };

  std::array<Rows, kMost> asked_;
  std::size_t count_ = 0, at_ = 0;
};

}  // namespace maskctl::attention
