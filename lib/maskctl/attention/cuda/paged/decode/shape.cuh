// Compile-time sizes and arguments of the kernels that decode over pages.
#pragma once

#include "maskctl/attention/cuda/paged/decode/line.cuh"
#include "maskctl/attention/cuda/paged/units.h"

namespace maskctl::attention::cuda {

/// Sizes of a decoding kernel for elements T, heads of up to kD dimensions and up to kV vectors. A
/// vector is a query head of a row; those of a block share a key head and are of one row or, if
/// kHasManyRows, of a tile of rows.
template <class T, int kD, int kV>
struct DecodeShape {
  using Element = T;
  static constexpr int kDim = kD, kVectors = kV;
  static constexpr int kWarps = kDim <= 128 ? 8 : 4, kThreads = 32 * kWarps;
  static constexpr int kKeys = kDim <= 64 ? 32 : 16;  // keys per warp and step
  static constexpr int kStepKeys = kWarps * kKeys;
  static constexpr int kRowBytes = kDim * 2, kUnits = kRowBytes / kUnitBytes;
  static constexpr int kSlotBytes = kKeys * kRowBytes;  // keys or values of a step
  static constexpr int kSlots = kDim <= 128 ? 3 : 5;    // slots per warp
  static constexpr int kTiles = kVectors / 8;           // tiles of 8 vectors
  static constexpr bool kHasManyRows = kVectors > 8;
  /// Floats per vector of a partial result: kDim sums of values, the maximum logit, the sum of the
  /// weights, and two floats of padding against bank conflicts.
  static constexpr int kPartRow = kDim + 4;
  static constexpr int kPartFloats = kVectors * kPartRow;
  static constexpr int kRingBytes = kWarps * kSlots * kSlotBytes;
  static constexpr int kSharedBytes = kRingBytes + kWarps * kPartFloats * 4;
  static_assert(kSharedBytes <= 227 << 10);
};

struct DecodeCall {
  PagedCall p;
  DecodeCut cut;
  DecodeLine line;
  float* parts;  // partial results [gangs, 2, blocks of a gang], see Decoder::part_of()
  // [gangs, blocks of a gang]: how many gangs are done with the last row that begins in a share
  int* arrivals;
  int pieces;  // blocks that share a key head, each with at most kVectors of its query heads
  AnyResult out;
};

}  // namespace maskctl::attention::cuda
