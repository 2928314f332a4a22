#include "maskctl/mask/planes/taken.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "maskctl/base/work_scope.h"
#include "maskctl/mask/mask.h"
#include "maskctl/mask/planes/bands_plane.h"
#include "maskctl/mask/planes/computed_rows.h"

namespace maskctl {
namespace {

/// Indices with the place of each progression among all of them.
class Placed {
 public:
  explicit Placed(const Indices& indices) : all_(indices) {
    Index end = 0;
    for (const Progression& one : all_) ends_.push_back(end += one.count);
  }
  Index size() const { return ends_.empty() ? 0 : ends_.back(); }
  Index bytes() const {
    return static_cast<Index>(all_.size() * sizeof(Progression) + ends_.size() * sizeof(Index));
  }
  std::span<const Progression> all() const { return all_; }
  Index first(std::size_t i) const { return ends_[i] - all_[i].count; }
  std::size_t at(Index place) const {
    return static_cast<std::size_t>(std::ranges::upper_bound(ends_, place) - ends_.begin());
  }

  /// Calls f(rows, shift) for each part of the places `q` that is a range of indices: index r is at
  /// place r + shift.
  template <typename F>
  void each_range(Range q, F&& f) const {
    for (std::size_t i = at(q.begin); i < all_.size() && first(i) < q.end; ++i) {
      const Range places = intersect(q, {first(i), ends_[i]});
      const Progression& one = all_[i];
      const Index length = one.step == 1 ? places.size() : 1;
      for (Index place = places.begin; place < places.end; place += length) {
        const Index row = one.at(place - first(i));
        f(Range{row, row + length}, place - row);
      }
    }
  }

 private:
  Indices all_;
  std::vector<Index> ends_;  // the place after each progression
};

class TakenPlane final : public Plane {
 public:
  TakenPlane(PlanePtr base, const Indices& q, const Indices& kv)
      : Plane(count_of(q), count_of(kv)), base_(std::move(base)), q_(q), kv_(kv) {
    const auto all = kv_.all();
    all_keys_ = kv == Indices{{0, 1, base_->keys()}};
    for (std::size_t i = 1; i <= all.size(); ++i) {
      if (i == all.size() || all[i].begin < all[i - 1].last()) ascents_.push_back(i);
    }
  }

  void rows(Range rows, const RowSink& sink) const override {
    std::vector<Run> runs;
    const StopPoll poll;
    q_.each_range(rows, [&](Range from, Index shift) {
      poll();
      base_->rows(from, [&](Range equal, const Keys& keys) {
        const Range here{equal.begin + shift, equal.end + shift};
        if (all_keys_) return sink(here, keys);
        runs.clear();
        take(keys, runs);
        sink(here, {runs, {}});
      });
    });
  }
  Index count(Range q, Range k) const override {
    if (!all_keys_) return Plane::count(q, k);
    Index sum = 0;
    q_.each_range(q, [&](Range from, Index) { sum += base_->count(from, k); });
    return sum;
  }
  void tiles(Range q, Index key_tile, std::vector<TileRun>& out) const override {
    std::vector<Range> from;
    if (all_keys_) q_.each_range(q, [&](Range rows, Index) { from.push_back(rows); });
    if (from.size() != 1) return Plane::tiles(q, key_tile, out);
    base_->tiles(from.front(), key_tile, out);
  }
  void counts(Range q, std::span<const Index> edges, std::span<Index> out) const override {
    if (!all_keys_) return Plane::counts(q, edges, out);
    q_.each_range(q, [&](Range from, Index) { base_->counts(from, edges, out); });
  }
  bool computed() const override { return !all_keys_ || base_->computed(); }
  Index bytes() const override {
    return base_->bytes() + static_cast<Index>(sizeof(*this)) + q_.bytes() + kv_.bytes();
  }

 private:
  void take(const Keys& keys, std::vector<Run>& runs) const {
    std::size_t first = 0;
    for (const std::size_t end : ascents_) {
      if (keys.is_words()) {
        for (std::size_t i = first; i < end; ++i) take_bits(i, keys.words, runs);
      } else {
        for (const Run& run : keys.runs) {
          append_run({below(first, end, run.begin), below(first, end, run.end)}, runs);
        }
      }
      first = end;
    }
  }
  void take_bits(std::size_t i, std::span<const std::uint64_t> words,
                 std::vector<Run>& runs) const {
    const Progression& one = kv_.all()[i];
    for (Index n = 0; n < one.count; ++n) {
      const auto key = static_cast<std::uint64_t>(one.at(n));
      const auto place = static_cast<std::int32_t>(kv_.first(i) + n);
      if (words[key / 64] >> (key % 64) & 1) append_run({place, place + 1}, runs);
    }
  }
  /// The place in an ascent of the first index that is not below `key`.
  std::int32_t below(std::size_t first, std::size_t end, Index key) const {
    const auto ascent = kv_.all().subspan(first, end - first);
    const auto one = std::ranges::partition_point(
        ascent, [key](const Progression& each) { return each.last() < key; });
    const std::size_t i = first + static_cast<std::size_t>(one - ascent.begin());
    if (i == end) return static_cast<std::int32_t>(kv_.first(end - 1) + ascent.back().count);
    const Index inside = ceil_div(std::max<Index>(key - one->begin, 0), one->step);
    return static_cast<std::int32_t>(kv_.first(i) + inside);
  }

  PlanePtr base_;
  Placed q_, kv_;
  std::vector<std::size_t> ascents_;  // the end of each, as a number of progressions
  bool all_keys_ = false;
};

/// The step that all progressions have, those of one index aside; nothing if they differ.
std::optional<Index> common_step(const Indices& q, const Indices& kv) {
  Index step = 0;
  for (const Indices* side : {&q, &kv}) {
    for (const Progression& one : *side) {
      if (one.count < 2) continue;
      if (step != 0 && one.step != step) return std::nullopt;
      step = one.step;
    }
  }
  return std::max<Index>(step, 1);
}

/// Slabs (ranges of rows with their bands) of the rows `q` and of the keys of one progression.
std::vector<Slab> slabs_taken(const std::vector<Slab>& slabs, const Placed& q,
                              const Progression& kv, Index step) {
  const auto up = [step](Index n) { return -floor_div(-n, step); };
  std::vector<Slab> out;
  for (std::size_t i = 0; i < q.all().size(); ++i) {
    const Progression& one = q.all()[i];
    auto slab = std::ranges::partition_point(
        slabs, [&](const Slab& each) { return each.q.end <= one.begin; });
    for (; slab != slabs.end() && slab->q.begin <= one.last(); ++slab) {
      const Range rows =
          intersect({up(slab->q.begin - one.begin), up(slab->q.end - one.begin)}, {0, one.count});
      if (rows.empty()) continue;
      // Row one.begin + step * n sees keys from begin + (one.begin + step * n) on: place n + ...
      const auto border = [&](Index at, bool slope) {
        return slope ? up(at + one.begin - kv.begin) - q.first(i) : up(at - kv.begin);
      };
      std::vector<Band> bands = slab->bands;
      for (Band& band : bands) {
        band.begin = border(band.begin, band.begin_slope != 0);
        band.end = border(band.end, band.end_slope != 0);
      }
      append_union(out, {rows.begin + q.first(i), rows.end + q.first(i)}, bands, kv.count);
    }
  }
  return out;
}

PlanePtr bands_taken(const BandsPlane& base, const Indices& q, const Indices& kv) {
  constexpr std::size_t kMostPieces = 1 << 12;
  if (q.size() * kv.size() > kMostPieces) return nullptr;
  const auto step = common_step(q, kv);
  if (!step) return nullptr;
  const Placed rows(q), columns(kv);
  PlanePtr out = empty_plane(rows.size(), columns.size());
  for (std::size_t i = 0; i < kv.size() && out; ++i) {
    std::vector<Slab> slabs = slabs_taken(base.slabs(), rows, kv[i], *step);
    for (Slab& slab : slabs) {
      for (Band& band : slab.bands) {
        band.begin += columns.first(i);
        band.end += columns.first(i);
      }
    }
    const BandsPlane piece(rows.size(), columns.size(), std::move(slabs));
    out = combine_bands(Op::kOr, *as<BandsPlane>(out), piece, kBandBudget);
  }
  return out;
}

}  // namespace

void append_progression(const Progression& next, Indices& out) {
  if (next.count < 1) return;
  if (!out.empty()) {
    Progression& last = out.back();
    const Index step = next.begin - last.last();
    const bool fits = step >= 1 && (last.count == 1 || last.step == step) &&
                      (next.count == 1 || next.step == step);
    if (fits) {
      last.step = step;
      last.count += next.count;
      return;
    }
    // The second of a pair begins a denser progression: 0, 5, 6, 7 is 0 and 5, 6, 7.
    if (last.count == 2 && next.count == 1 && step >= 1 && step < last.step) {
      const Index second = last.last();
      last = {last.begin, 1, 1};
      out.push_back({second, step, 2});
      return;
    }
  }
  out.push_back(next);
}

void append_index(Index index, Indices& out) { append_progression({index, 1, 1}, out); }

Indices indices_of(std::span<const std::int32_t> numbers) {
  Indices out;
  for (const std::int32_t number : numbers) append_index(number, out);
  return out;
}

Index count_of(const Indices& indices) {
  return std::transform_reduce(indices.begin(), indices.end(), Index{0}, std::plus{},
                               [](const Progression& one) { return one.count; });
}

PlanePtr taken(const PlanePtr& base, const Indices& q, const Indices& kv) {
  if (const auto* bands = as<BandsPlane>(base)) {
    if (PlanePtr out = bands_taken(*bands, q, kv)) return out;
  }
  return std::make_shared<TakenPlane>(base, q, kv);
}

Mask rows_of(const Mask& mask, std::span<const Range> ranges) {
  Indices rows;
  for (const Range& range : ranges) append_progression({range.begin, 1, range.size()}, rows);
  const Indices keys{{0, 1, mask.keys()}};
  return mask.map([&](const PlanePtr& plane) { return taken(plane, rows, keys); });
}

}  // namespace maskctl
