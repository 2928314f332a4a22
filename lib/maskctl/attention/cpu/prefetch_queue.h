// Prefetches of rows of memory during matrix products.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "maskctl/base/index.h"

namespace maskctl::attention {

/// Brings rows that will soon be read or written into the second-level cache. The rows of one head
/// are far apart in memory, which hardware prefetchers do not predict. A wrong guess only costs
/// time.
class PrefetchQueue {
 public:
  /// `floats_of_depth`: how many floats are prefetched per step of the inner dimension, in a
  /// product of six rows and two vectors.
  explicit PrefetchQueue(Index floats_of_depth = 6) : floats_of_depth_(floats_of_depth) {}

  void clear() { count_ = at_ = 0; }
  /// Queues `count` rows of n floats, `stride` floats apart; does nothing if count <= 0. After
  /// kMost calls since clear(), further calls are ignored.
  void add(const float* row, Index stride, Index count, Index n) {
    if (count <= 0 || count_ == kMost) return;
    const auto begin = reinterpret_cast<std::intptr_t>(row);
    queue_[count_++] = {begin, begin + count * stride * kFloat, stride * kFloat, n};
  }
  /// Prefetches the next queued rows: as many as are due during one product of six rows and two
  /// vectors with an inner dimension of `depth`.
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
  static constexpr Index kLine = 16;  // floats in a cache line
  static constexpr Index kFloat = sizeof(float);
  struct QueuedRows {
    // Addresses are integers: rows past the end of an array may be prefetched, but a pointer may
    // not point there.
    std::intptr_t next = 0, end = 0;
    Index stride = 0;  // bytes between rows
    Index n = 0;       // floats in a row
  };

  Index floats_of_depth_;
  std::array<QueuedRows, kMost> queue_;
  std::size_t count_ = 0, at_ = 0;
};

}  // namespace maskctl::attention
