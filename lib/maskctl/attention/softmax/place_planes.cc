// Rows of a mask on positions are found by bisection where positions ascend; cumulative lengths are
// checked and turned into bands.
#include "maskctl/attention/softmax/place_planes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/mask/planes/bands.h"

namespace maskctl::attention {
namespace {

class PositionPlane final : public Plane {
 public:
  PositionPlane(std::span<const Index> q, std::span<const Index> kv, std::optional<Index> left,
                std::optional<Index> right)
      : Plane(static_cast<Index>(q.size()), static_cast<Index>(kv.size())),
        q_(q.begin(), q.end()),
        kv_(kv.begin(), kv.end()),
        left_(left),
        right_(right) {
    for (Place first = kv_.cbegin(); first != kv_.cend(); first = ascents_.back()) {
      ascents_.push_back(std::is_sorted_until(first, kv_.cend()));
    }
  }

  void rows(Range rows, const RowSink& sink) const override {
    std::vector<Run> runs;
    for (Index i = rows.begin; i < rows.end; ++i) {
      runs.clear();
      auto first = kv_.begin();
      for (const auto last : ascents_) {
        add(q_[as_size(i)], first, last, runs);
        first = last;
      }
      sink({i, i + 1}, {runs, {}});
    }
  }
  bool computed() const override { return true; }
  Index bytes() const override {
    return static_cast<Index>(sizeof(*this) +
                              (q_.size() + kv_.size() + ascents_.size()) * sizeof(Index));
  }

 private:
  using Place = std::vector<Index>::const_iterator;

  /// The keys of one ascent that a query at `position` sees; joined to a run that they touch.
  void add(Index position, Place first, Place last, std::vector<Run>& runs) const {
    const auto too_low = [&](Index key) { return left_ && key - position < -*left_; };
    const auto in_reach = [&](Index key) { return !right_ || key - position <= *right_; };
    const Place begin = std::partition_point(first, last, too_low);
    const Place end = std::partition_point(begin, last, in_reach);
    if (begin == end) return;
    const Run run{static_cast<std::int32_t>(begin - kv_.begin()),
                  static_cast<std::int32_t>(end - kv_.begin())};
    if (!runs.empty() && runs.back().end == run.begin) {
      runs.back().end = run.end;
    } else {
      runs.push_back(run);
    }
  }

  std::vector<Index> q_, kv_;
  std::vector<Place> ascents_;  // where each ends
  std::optional<Index> left_, right_;
};

/// The part of each sequence on one axis: in place when packed, from 0 when padded.
std::vector<Range> parts_of(const Tensor& cum, bool padded, Index extent, const char* what) {
  constexpr Index kNoLimit = std::numeric_limits<Index>::max();
  std::vector<Range> parts = packed_sequences(cum, padded ? kNoLimit : extent, what);
  for (std::size_t n = 0; padded && n < parts.size(); ++n) {
    parts[n] = {0, parts[n].size()};
    if (parts[n].end <= extent) continue;
    refuse(fmt::format("{}: sequence {} has {} tokens, past the {} of its row", what, n,
                       parts[n].end, extent));
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

PlanePtr position_plane(std::span<const Index> q, std::span<const Index> kv,
                        std::optional<Index> left, std::optional<Index> right) {
  return std::make_shared<PositionPlane>(q, kv, left, right);
}

std::vector<Sequence> sequences_of(const Tensor& cum_q, const Tensor& cum_k, Index batch,
                                   Index queries, Index keys) {
  const bool padded = batch != 1;
  const std::vector<Range> q = parts_of(cum_q, padded, queries, "cum_seqlens_q");
  const std::vector<Range> k = parts_of(cum_k, padded, keys, "cum_seqlens_k");
  if (q.size() != k.size()) {
    refuse_shape(
        fmt::format("cum_seqlens_q names {} sequences and cum_seqlens_k {}", q.size(), k.size()));
  }
  if (padded && static_cast<Index>(q.size()) != batch) {
    refuse_shape(
        fmt::format("cum_seqlens_q names {} sequences in a batch of {}; "
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
  return bands(queries, keys, slabs);
}

}  // namespace maskctl::attention
