// Cumulative lengths checked and turned into bands.
#include "maskctl/attention/softmax/sequences.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "maskctl/attention/arrays/packed_sequences.h"
#include "maskctl/base/error.h"
#include "maskctl/mask/bands.h"

namespace maskctl::attention {
namespace {

/// The part of each sequence on one axis: in place when packed, from 0 when padded.
std::vector<Range> parts_of(const Tensor& cum, bool padded, Index extent, const char* what) {
  constexpr Index kNoLimit = std::numeric_limits<Index>::max();
  std::vector<Range> parts = packed_sequences(cum, padded ? kNoLimit : extent, what);
  for (std::size_t n = 0; padded && n < parts.size(); ++n) {
    parts[n] = {0, parts[n].size()};
    if (parts[n].end <= extent) continue;
    throw Error(Errc::kInvalidArgument, fmt::format("{}: sequence {} has {} tokens, past the {} "
                                                    "of its row",
                                                    what, n, parts[n].end, extent));
  }
  return parts;
}

/// Keys [i + a, i + b) of row i, cut to `keys`; nullopt: no limit. Ends that move with the row stop
/// where they leave `keys`, which takes up to three slabs.
void append_slabs(Range rows, Range keys, std::optional<Index> a, std::optional<Index> b,
                  std::vector<Slab>& slabs) {
  std::array<Index, 4> cuts{rows.begin, a ? keys.begin - *a : rows.begin,
                            b ? keys.end - *b : rows.end, rows.end};
  for (Index& cut : cuts) cut = std::clamp(cut, rows.begin, rows.end);
  std::sort(cuts.begin(), cuts.end());
  for (std::size_t part = 0; part < 3; ++part) {
    const Range q{cuts[part], cuts[part + 1]};
    if (q.empty()) continue;
    const bool begin_slopes = a && q.begin + *a >= keys.begin;
    const bool end_slopes = b && q.begin + *b < keys.end;
    slabs.push_back(
        {q,
         {{begin_slopes ? *a : keys.begin, end_slopes ? *b : keys.end,
           static_cast<std::uint8_t>(begin_slopes), static_cast<std::uint8_t>(end_slopes)}}});
  }
}

}  // namespace

std::vector<Sequence> sequences_of(const Tensor& cum_q, const Tensor& cum_k, Index batch,
                                   Index queries, Index keys) {
  const bool padded = batch != 1;
  const std::vector<Range> q = parts_of(cum_q, padded, queries, "cum_seqlens_q");
  const std::vector<Range> k = parts_of(cum_k, padded, keys, "cum_seqlens_k");
  if (q.size() != k.size()) {
    throw Error(Errc::kShape, fmt::format("cum_seqlens_q names {} sequences and cum_seqlens_k {}",
                                          q.size(), k.size()));
  }
  if (padded && static_cast<Index>(q.size()) != batch) {
    throw Error(Errc::kShape, fmt::format("cum_seqlens_q names {} sequences in a batch of {}; "
                                          "expected {}, or a batch of 1 that holds them all",
                                          q.size(), batch, batch));
  }
  std::vector<Sequence> sequences;
  sequences.reserve(q.size());
  for (std::size_t n = 0; n < q.size(); ++n) {
    sequences.push_back({padded ? static_cast<Index>(n) : 0, q[n], k[n]});
  }
  return sequences;
}

PlanePtr sequence_plane(const std::vector<Sequence>& sequences, const Diagonals& diagonals,
                        Index queries, Index keys) {
  std::vector<Slab> slabs;
  for (const Sequence& s : sequences) {
    // From indices inside the sequence to places in the plane.
    const Index shift = s.keys.begin - s.queries.begin +
                        (diagonals.bottom_right ? s.keys.size() - s.queries.size() : 0);
    std::optional<Index> begin, end;
    if (diagonals.low) begin = *diagonals.low + shift;
    if (diagonals.high) end = *diagonals.high + shift + 1;
    if (!s.keys.empty()) append_slabs(s.queries, s.keys, begin, end, slabs);
  }
  return bands(queries, keys, std::move(slabs));
}

}  // namespace maskctl::attention
