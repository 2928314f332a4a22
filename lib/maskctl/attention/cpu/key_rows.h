// Rows of K or V where they lie, four by four: what products with unpacked rows read.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "maskctl/base/index.h"
#include "maskctl/tensor/dtype.h"

namespace maskctl::attention {

/// Rows of some heads: row j of head u is the `dim` elements from data + offsets[j] +
/// u * head_stride on, where the offsets (in elements) are given separately.
struct RowArray {
  DType dtype = DType::kFloat32;  // or kFloat16, kBFloat16
  const void* data = nullptr;
  Index heads = 1, head_stride = 0;
  Index dim = 0;
  Index together = 1;  // how many rows of one head lie beside each other; a hint
};

/// Four rows of one head: number `first` and the next three; past the last row, that one again.
struct FourRows {
  std::array<const std::byte*, 4> at;
  Index first, head;
};

/// Listed rows of an array, each located once for all products with it. No other row is read.
class KeyRows {
 public:
  KeyRows() = default;
  KeyRows(const RowArray& array, std::span<const Index> offsets) { place(array, offsets); }
  /// Other rows instead.
  void place(const RowArray& array, std::span<const Index> offsets);

  const RowArray& array() const { return array_; }
  Index count() const { return count_; }
  /// All rows of all heads, in an order that keeps rows that lie together next to each other.
  std::span<const FourRows> fours() const { return fours_; }

 private:
  RowArray array_;
  Index count_ = 0;
  std::vector<FourRows> fours_;
};

}  // namespace maskctl::attention
