// Packed masks: one bit a cell, all cells of [B, H, Q, K] in C order without padding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "maskctl/mask/mask.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl {

/// The bytes that the cells of `shape` take: cell i is bit i % 8 (lowest first) of byte i / 8, as
/// np.packbits(cells, bitorder="little") packs them. Throws Error(kShape) for extents that are
/// negative or overflow.
Index bit_bytes(std::span<const Index> shape);

/// The mask [B, H, Q, K] (`shape`) of packed cells; equal planes are shared. Throws Error(kFormat)
/// when the number of bytes does not fit the shape, or when the spare bits of the last byte are not
/// zero.
Mask mask_from_bits(std::span<const std::byte> bits, std::span<const Index> shape);

/// Writes the cells of rows q, row after row, into `out` from bit `offset` on. Rows that fill whole
/// words are stored; others are ORed, so `out` must be zero there.
void pack_rows(const Plane& plane, Range q, Index offset, std::span<std::uint64_t> out);

/// All cells as [N] uint8. Throws Error(kLimit) when that takes more than max_bytes.
Tensor bits_from_mask(const Mask& mask, Index max_bytes);

/// The packed cells of a mask, produced part by part in order, for arrays that are never held
/// whole.
class BitBands {
 public:
  explicit BitBands(const Mask& mask);
  /// The next bytes, about 1 MiB; empty when there are no more. Valid until the next call.
  std::span<const std::byte> next();
  /// Rows packed so far, over all planes.
  Index rows_done() const { return plane_ * mask_.queries() + row_; }

 private:
  void pack(const Plane& plane, Range q);

  Mask mask_;
  Index planes_;
  Index plane_ = 0, row_ = 0;
  Index filled_ = 0;    // bits in words_
  Index returned_ = 0;  // how many of them next() has returned
  std::vector<std::uint64_t> words_;
};

}  // namespace maskctl
