// Tier 2: a bit matrix, for masks without structure.
#include <algorithm>
#include <array>

#include "maskctl/base/threads.h"
#include "maskctl/mask/stored_planes.h"
#include "maskctl/mask/words.h"

namespace maskctl {
namespace {

/// Transposes 64 x 64 bits in place: halves are swapped at distance 32, 16, ... 1.
void transpose64(std::array<std::uint64_t, 64>& bits) {
  std::uint64_t mask = 0x00000000ffffffff;
  for (std::size_t j = 32; j != 0; j >>= 1, mask ^= mask << j) {
    for (std::size_t k = 0; k < 64; k = ((k | j) + 1) & ~j) {
      const std::uint64_t swap = ((bits[k] >> j) ^ bits[k | j]) & mask;
      bits[k | j] ^= swap;
      bits[k] ^= swap << j;
    }
  }
}

}  // namespace

BitRows::BitRows(Index queries, Index keys, WordBuffer words)
    : Plane(queries, keys), stride_(words_for(keys)), words_(std::move(words)) {}

std::span<const std::uint64_t> BitRows::row(Index q) const {
  return words_.words().subspan(static_cast<std::size_t>(q * stride_),
                                static_cast<std::size_t>(stride_));
}

void BitRows::rows(Range q, const RowSink& sink) const {
  for (Index begin = q.begin; begin < q.end;) {
    const auto words = row(begin);
    Index end = begin + 1;
    while (end < q.end && std::ranges::equal(row(end), words)) ++end;
    sink({begin, end}, {{}, words});
    begin = end;
  }
}

PlanePtr BitRows::transposed() const {
  const Index out_stride = words_for(queries());
  WordBuffer out(keys() * out_stride);
  const auto to = out.words();
  parallel_for(stride_, [&](Index column) {
    std::array<std::uint64_t, 64> tile;
    const Index key_count = std::min<Index>(64, keys() - column * 64);
    for (Index block = 0; block < out_stride; ++block) {
      const Index row_count = std::min<Index>(64, queries() - block * 64);
      for (Index i = 0; i < 64; ++i) {
        tile[static_cast<std::size_t>(i)] =
            i < row_count
                ? words_.words()[static_cast<std::size_t>((block * 64 + i) * stride_ + column)]
                : 0;
      }
      transpose64(tile);
      for (Index i = 0; i < key_count; ++i) {
        to[static_cast<std::size_t>((column * 64 + i) * out_stride + block)] =
            tile[static_cast<std::size_t>(i)];
      }
    }
  });
  return std::make_shared<BitRows>(keys(), queries(), std::move(out));
}

Index BitRows::bytes() const { return queries() * stride_ * 8; }

}  // namespace maskctl
