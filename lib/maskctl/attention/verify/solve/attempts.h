// Whether a way to solve rows is worth its time; private to solve.
#pragma once

#include <atomic>

#include "maskctl/base/index.h"

namespace maskctl::attention::solving {

/// Rows that were tried in one way on all threads, and how many of them it solved.
class Attempts {
 public:
  void count(Index solved, Index tried) { solved_ += solved, tried_ += tried; }
  /// True until hardly a row was solved; then now and again, as later rows may be others.
  bool promise() {
    constexpr Index kLeast = 24, kRarely = 16;
    return tried_ < kLeast || solved_ >= tried_ / 8 || ++refused_ % kRarely == 0;
  }

 private:
  std::atomic<Index> solved_ = 0, tried_ = 0, refused_ = 0;
};

}  // namespace maskctl::attention::solving
