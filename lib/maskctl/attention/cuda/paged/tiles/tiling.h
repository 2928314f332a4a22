// How blocks that attend over pages divide their threads and their shared memory.
#pragma once

#include <cstddef>

#include "maskctl/attention/cuda/paged/units.h"

namespace maskctl::attention::cuda {

inline constexpr int kMostThreads = 256;                               // threads of a block at most
inline constexpr int kMostKeyBits = 6, kMostKeys = 1 << kMostKeyBits;  // keys per stage: two a lane
/// The most bytes of one head of a key: each thread of a block takes a unit of them.
inline constexpr Index kMostHeadBytes = kMostThreads * kUnitBytes;

/// How a block divides its threads and its shared memory.
struct Tiling {
  int threads = 0;
  int vectors = 0;  // the most query vectors of a tile
  int keys = 0;     // keys of a stage: 2^key_bits
  int key_bits = 0;
  int units = 0;        // units of a row
  int column_bits = 0;  // 2^column_bits threads, at least `units`, lie along a row
  int held = 0;         // vectors whose sums a thread holds: 4 or 8
  std::size_t shared_bytes = 0;
  bool aligned = false;  // whether rows begin and end at multiples of a unit

  /// Units of a row in shared memory: whole lines of 128 bytes.
  constexpr int row_units() const { return (units + 7) / 8 * 8; }
  constexpr int stage_units() const { return keys * row_units(); }
  /// Floats from the logits of one key to those of the next: an odd multiple of 16 bytes, so that
  /// keys lie in different banks.
  constexpr int logit_stride() const { return vectors % 8 == 0 ? vectors + 4 : vectors; }
};

Tiling tiling(const PagedProblem& problem, Index usual_rows);

}  // namespace maskctl::attention::cuda
