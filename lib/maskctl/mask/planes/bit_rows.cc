// Tier 2: a bit for each cell, for masks without structure.
#include <algorithm>
#include <array>

#include "maskctl/base/threads.h"
#include "maskctl/base/work_scope.h"
#include "maskctl/mask/planes/bit_tiles.h"
#include "maskctl/mask/planes/stored_planes.h"
#include "maskctl/mask/planes/words.h"

namespace maskctl {

BitRows::BitRows(Index queries, Index keys, WordBuffer words)
    : Plane(queries, keys), stride_(words_for(keys)), words_(std::move(words)) {}

std::span<const std::uint64_t> BitRows::row(Index q) const {
  return words_.words().subspan(static_cast<std::size_t>(q * stride_),
                                static_cast<std::size_t>(stride_));
}

void BitRows::rows(Range q, const RowSink& sink) const {
  const StopPoll poll;
  for (Index begin = q.begin; begin < q.end;) {
    poll();
    const auto words = row(begin);
    Index end = begin + 1;
    while (end < q.end && std::ranges::equal(row(end), words)) ++end;
    sink({begin, end}, {{}, words});
    begin = end;
  }
}

PlanePtr BitRows::transposed() const {
  constexpr auto kWide = static_cast<Index>(kTileWords), kTall = static_cast<Index>(kTileRows);
  const Index out_stride = words_for(queries());
  WordBuffer out(keys() * out_stride);
  parallel_for(ceil_div(stride_, kWide), [&](Index group) {
    std::array<std::uint64_t, kTileSpan> rows, columns;
    const Index width = std::min(kWide, stride_ - group * kWide);
    const Range key_range{group * 64 * kWide, std::min((group + 1) * 64 * kWide, keys())};
    for (Index block = 0; block < out_stride; ++block) {
      rows.fill(0);
      const Index count = std::min(kTall, queries() - block * kTall);
      for (Index r = 0; r < count; ++r) {
        const auto from = row(block * kTall + r).subspan(static_cast<std::size_t>(group * kWide));
        std::copy_n(from.begin(), width, rows.begin() + r * kWide);
      }
      transpose_tiles(rows.data(), kTileWords, columns.data());
      for (Index k = key_range.begin; k < key_range.end; ++k) {
        out.words()[static_cast<std::size_t>(k * out_stride + block)] =
            columns[tile_slot(static_cast<std::size_t>(k - key_range.begin))];
      }
    }
  });
  return std::make_shared<BitRows>(keys(), queries(), std::move(out));
}

Index BitRows::bytes() const { return queries() * stride_ * 8; }

}  // namespace maskctl
