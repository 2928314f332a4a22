// Rows of memory that are prefetched while products run.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "maskctl/base/index.h"

namespace maskctl::attention {

/// Brings rows that will soon be read or written into the second-level cache, one by one. The rows
/// of one head lie apart in memory, which no hardware prefetcher foresees. A wrong guess costs only
/// time.
class PrefetchQueue {
 public:
  /// `floats_of_depth` is how many floats are fetched for each step of depth of a product of six
  /// rows and two vectors.
  explicit PrefetchQueue(Index floats_of_depth = 6) : floats_of_depth_(floats_of_depth) {}

  void clear() { count_ = at_ = 0; }
  /// Queues `count` rows of n floats, `stride` floats apart; nothing when count <= 0. After kMost
  /// calls since clear() further ones are ignored.
  void add(const float* row, Index stride, Index count, Index n) {
    if (count <= 0 || count_ == kMost) return;
    const auto begin = reinterpret_cast<std::intptr_t>(row);
    queue_[count_++] = {begin, begin + count * stride * kFloat, stride * kFloat, n};
  }
  /// Fetches what is due during one such product of this depth.
  void step(Index depth) {
    for (Index floats = depth * floats_of_depth_; floats > 0 && at_ < count_;) {
      QueuedRows& rows = queue_[at_];
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
  struct QueuedRows {
    // Addresses as numbers: rows past the end of an array may be prefetched too, but no pointer may
    // point there.
    std::intptr_t next = 0, end = 0;
    Index stride = 0;  // in bytes
    Index n = 0;       // floats
  };

  Index floats_of_depth_;
  std::array<QueuedRows, kMost> queue_;
  std::size_t count_ = 0, at_ = 0;
};

}  // namespace maskctl::attention
