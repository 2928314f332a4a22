// Masks packed as bits: one bit per cell, all cells of [B, H, Q, K] in C order without padding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "maskctl/mask/mask.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl {

/// The number of bytes that the cells of `shape` take. Cell i is bit i % 8 (lowest first) of byte i
/// / 8, as in np.packbits(cells, bitorder="little"). Throws Error(kShape) for extents that are
/// negative or overflow.
Index bit_bytes(std::span<const Index> shape);

/// The mask of packed cells; `shape` is [B, H, Q, K]. Equal planes are stored once. Throws
/// Error(kFormat) when the number of bytes does not fit the shape, or when unused bits of the last
/// byte are not zero.
Mask mask_from_bits(std::span<const std::byte> bits, std::span<const Index> shape);

/// Writes the cells of rows q, one row after another, into `out` from bit `offset` on. Rows that
/// fill whole words are stored; others are ORed into `out`, which must be zero there.
void pack_rows(const Plane& plane, Range q, Index offset, std::span<std::uint64_t> out);

/// Copies `rows` rows of `keys` bits each, packed without gaps from bit `offset` on, into words so
/// that each row starts at a new word.
void unpack_rows(std::span<const std::byte> bits, Index offset, Index rows, Index keys,
                 std::span<std::uint64_t> words);

/// The packed cells of a whole mask as an array [N] of uint8. Throws Error(kLimit) when they take
/// more than max_bytes.
Tensor bits_from_mask(const Mask& mask, Index max_bytes);

/// Packs a mask band by band, in order, so that the whole packed array is never in memory.
class BitBands {
 public:
  explicit BitBands(const Mask& mask);
  /// The next bytes, about 1 MiB; empty at the end. Valid until the next call.
  std::span<const std::byte> next();
  /// The number of rows packed so far, over all planes.
  Index rows_done() const { return plane_ * mask_.queries() + row_; }

 private:
  void pack(const Plane& plane, Range q);

  Mask mask_;
  Index planes_;
  Index plane_ = 0, row_ = 0;
  Index filled_ = 0;    // bits in use in words_
  Index returned_ = 0;  // bits of words_ that next() has returned
  std::vector<std::uint64_t> words_;
};

}  // namespace maskctl
