// Rows of memory that are asked for while products run.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "maskctl/base/index.h"

namespace maskctl::attention {

/// Rows that will soon be read or written, brought into the second-level cache one by one: one
/// head's rows lie apart, so that no hardware foresees them. Wrong guesses cost time alone.
class PrefetchQueue {
 public:
  /// How fast: floats for each step of depth of a product of six rows and two vectors.
  explicit PrefetchQueue(Index floats_of_depth = 6) : floats_of_depth_(floats_of_depth) {}

  void clear() { count_ = at_ = 0; }
  /// `count` rows of n floats, `stride` floats apart; nothing when count <= 0. Served in order; of
  /// many calls after clear() only the first kMost.
  void ask(const float* row, Index stride, Index count, Index n) {
    if (count <= 0 || count_ == kMost) return;
    const auto begin = reinterpret_cast<std::intptr_t>(row);
    asked_[count_++] = {begin, begin + count * stride * kFloat, stride * kFloat, n};
  }
  /// Fetches what is due during one such product of this depth.
  void step(Index depth) {
    for (Index floats = depth * floats_of_depth_; floats > 0 && at_ < count_;) {
      Asked& rows = asked_[at_];
      std::intptr_t row = rows.next;
      for (; floats > 0 && row != rows.end; row += rows.stride, floats -= rows.n) {
        for (Index x = 0; x < rows.n; x += kLine) {
          __builtin_prefetch(reinterpret_cast<const void*>(row + x * kFloat), 0, 2);
        }
      }
      rows.next = row;
      if (row == rows.end) ++at_;
    }
  }

  static constexpr std::size_t kMost = 10;

 private:
  static constexpr Index kLine = 16;  // floats
  static constexpr Index kFloat = sizeof(float);
  struct Asked {
    // Addresses as numbers: rows past the end of an array are asked for too, where no pointer may
    // be.
    std::intptr_t next = 0, end = 0;
    Index stride = 0;  // in bytes
    Index n = 0;       // floats
  };

  Index floats_of_depth_;
  std::array<Asked, kMost> asked_;
  std::size_t count_ = 0, at_ = 0;
};

}  // namespace maskctl::attention
