// Whether a way to solve rows is worth its time; private to solve.
#pragma once

#include <atomic>

#include "maskctl/base/index.h"

namespace maskctl::attention::solving {

/// Rows that were tried in one way on all threads, and how many of them it solved.
class Attempts {
 public:
  void count(Index solved, Index tried) { solved_ += solved, tried_ += tried; }
  /// Whether to try again: true until the way has solved hardly any row, then now and again, since
  /// later rows may be different.
  bool promise() {
    constexpr Index kLeast = 24, kRarely = 16;
    return tried_ < kLeast || solved_ >= tried_ / 8 || ++refused_ % kRarely == 0;
  }

 private:
  std::atomic<Index> solved_ = 0, tried_ = 0, refused_ = 0;
};

}  // namespace maskctl::attention::solving
