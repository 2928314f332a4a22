// Decides whether a method of solving rows is worth its time; private to solve.
#pragma once

#include <atomic>

#include "maskctl/base/index.h"

namespace maskctl::attention::solving {

/// Counts the rows that a method was tried on, in all threads, and the rows that it solved.
class Attempts {
 public:
  void count(Index solved, Index tried) { solved_ += solved, tried_ += tried; }
  /// Whether to try the method again. A method that has solved hardly any row is tried only now and
  /// then, since later rows may be different.
  bool promise() {
    constexpr Index kLeast = 24, kRarely = 16;
    return tried_ < kLeast || solved_ >= tried_ / 8 || ++refused_ % kRarely == 0;
  }

 private:
  std::atomic<Index> solved_ = 0, tried_ = 0, refused_ = 0;
};

}  // namespace maskctl::attention::solving
