#include "maskctl/inspect/recognise_cells.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "maskctl/mask/rows.h"

namespace maskctl::recognising {
namespace {

constexpr Index kMostBands = Index{1} << 17;  // beyond, bands are no longer the cheap form
constexpr std::size_t kBandsPerRow = 16;      // many bands under a diagonal split quadratically
constexpr Index kRowsAtOnce = 1024;
constexpr Index kStoredRuns = Index{1} << 26;

/// Joins rows to slabs: ends that move by one key from row to row are lines of slope 1.
class SlabMaker {
 public:
  void add(Range rows, std::span<const Run> runs) {
    if (runs.size() > kBandsPerRow) failed_ = true;
    if (failed_) return;
    if (!joins(rows, runs)) start(rows, runs);
    last_.assign(runs.begin(), runs.end());
  }
  bool failed() const { return failed_ || count_ > kMostBands; }
  std::vector<Slab> take() { return std::move(slabs_); }

 private:
  void start(Range rows, std::span<const Run> runs) {
    Slab slab{rows, {}};
    for (const Run& run : runs) slab.bands.push_back({run.begin, run.end, 0, 0});
    count_ += static_cast<Index>(slab.bands.size()) + 1;
    slabs_.push_back(std::move(slab));
  }
  /// Extends the last slab when its lines go on through these rows.
  bool joins(Range rows, std::span<const Run> runs) {
    if (slabs_.empty() || runs.size() != last_.size()) return false;
    Slab& slab = slabs_.back();
    const bool free = slab.q.size() == 1 && rows.size() == 1;  // one row fixes no slope
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const Index begin = runs[i].begin - last_[i].begin, end = runs[i].end - last_[i].end;
      const Band& band = slab.bands[i];
      if (begin < 0 || begin > 1 || end < 0 || end > 1) return false;
      if (!free && (begin != band.begin_slope || end != band.end_slope)) return false;
      if (rows.size() > 1 && (begin != 0 || end != 0)) return false;
    }
    if (free) tilt(slab, runs);
    slab.q.end = rows.end;
    return true;
  }
  void tilt(Slab& slab, std::span<const Run> runs) {
    for (std::size_t i = 0; i < runs.size(); ++i) {
      Band& band = slab.bands[i];
      band.begin_slope = runs[i].begin != last_[i].begin;
      band.end_slope = runs[i].end != last_[i].end;
      if (band.begin_slope) band.begin -= slab.q.begin;
      if (band.end_slope) band.end -= slab.q.begin;
    }
  }
  std::vector<Slab> slabs_;
  std::vector<Run> last_;
  Index count_ = 0;
  bool failed_ = false;
};

/// Nothing when too many bands would be needed.
PlanePtr as_bands(const Plane& plane) {
  SlabMaker maker;
  std::vector<Run> scratch;
  Index step = 1;  // most planes that are no bands show it soon
  for (Index row = 0; row < plane.queries() && !maker.failed();
       row += step, step = std::min(2 * step, kRowsAtOnce)) {
    plane.rows({row, std::min(row + step, plane.queries())}, [&](Range rows, const Keys& keys) {
      if (maker.failed()) return;
      if (keys.is_words()) {
        scratch.clear();
        words_to_runs(keys.words, scratch);
      }
      maker.add(rows, keys.is_words() ? std::span<const Run>(scratch) : keys.runs);
    });
  }
  if (maker.failed()) return nullptr;
  return bands(plane.queries(), plane.keys(), maker.take());
}

}  // namespace

Range hull_of(const Keys& keys) {
  if (!keys.is_words()) {
    if (keys.runs.empty()) return {};
    return {keys.runs.front().begin, keys.runs.back().end};
  }
  const auto used = [](std::uint64_t word) { return word != 0; };
  const auto first = std::find_if(keys.words.begin(), keys.words.end(), used);
  if (first == keys.words.end()) return {};
  const auto last = std::find_if(keys.words.rbegin(), keys.words.rend(), used);
  return {(first - keys.words.begin()) * 64 + std::countr_zero(*first),
          (keys.words.rend() - last) * 64 - std::countl_zero(*last)};
}

PlanePtr compacted(const PlanePtr& plane, Index max_cells) {
  if (slabs_of(*plane)) return plane;
  if (PlanePtr lines = as_bands(*plane)) return lines;
  if (!plane->computed() || plane->queries() * plane->keys() > max_cells) return plane;
  PlanePtr kept = stored(*plane, kStoredRuns);
  return kept ? kept : plane;
}

std::optional<Diagonals> diagonals(const Plane& plane) {
  std::optional<Diagonals> out;
  each_hull(plane, [&](Range rows, const Band& band) {
    const Index first = rows.begin, last = rows.end - 1;
    const Index low = band.begin_slope ? band.begin : band.begin - last;
    const Index high = (band.end_slope ? band.end : band.end - first) - 1;
    if (!out) out = Diagonals{low, high};
    out->low = std::min(out->low, low);
    out->high = std::max(out->high, high);
  });
  return out;
}

Hull hull_of(const Plane& plane) {
  Hull out;
  each_hull(plane, [&](Range rows, const Band& band) {
    const Range keys = keys_of(rows, band);
    if (out.q.empty()) out = {rows, keys};
    out.q = {std::min(out.q.begin, rows.begin), std::max(out.q.end, rows.end)};
    out.k = {std::min(out.k.begin, keys.begin), std::max(out.k.end, keys.end)};
  });
  return out;
}

Index first_key(const Plane& plane) {
  const Hull hull = hull_of(plane);
  return hull.k.empty() ? plane.keys() : hull.k.begin;
}

Touched touched(const Plane& plane) {
  std::vector<std::int32_t> q(static_cast<std::size_t>(plane.queries()) + 1);
  std::vector<std::int32_t> k(static_cast<std::size_t>(plane.keys()) + 1);
  const auto mark = [](std::vector<std::int32_t>& steps, Range range) {
    ++steps[static_cast<std::size_t>(range.begin)];
    --steps[static_cast<std::size_t>(range.end)];
  };
  if (slabs_of(plane)) {
    each_band(plane, [&](Range rows, const Band& band) {
      mark(q, rows);
      mark(k, keys_of(rows, band));
    });
  } else {
    std::vector<std::uint64_t> seen(static_cast<std::size_t>(words_for(plane.keys())));
    plane.rows({0, plane.queries()}, [&](Range rows, const Keys& keys) {
      if (!hull_of(keys).empty()) mark(q, rows);
      for (const Run& run : keys.runs) mark(k, {run.begin, run.end});
      if (keys.is_words()) combine_words(Op::kOr, seen, keys.words, seen);
    });
    std::vector<Run> runs;
    words_to_runs(seen, runs);
    for (const Run& run : runs) mark(k, {run.begin, run.end});
  }
  const auto flags = [](std::vector<std::int32_t>& steps) {
    std::partial_sum(steps.begin(), steps.end(), steps.begin());
    std::vector<std::uint8_t> out(steps.size() - 1);
    std::transform(steps.begin(), steps.end() - 1, out.begin(),
                   [](std::int32_t depth) { return depth > 0; });
    return out;
  };
  return {flags(q), flags(k)};
}

Index common_stride(const Plane& plane) {
  Index stride = 0;
  const auto add = [&](Range rows, const Band& band) {
    if (stride == 1) return;
    const bool single = band.end_at(rows.begin) - band.begin_at(rows.begin) == 1 &&
                        band.begin_slope == band.end_slope;
    const bool tilted = band.begin_slope == 1;
    stride = single && (tilted || rows.size() == 1)
                 ? std::gcd(stride, band.begin_at(rows.begin) - rows.begin)
                 : 1;
  };
  constexpr Index kRowsAsked = 256;
  if (slabs_of(plane) || plane.queries() <= kRowsAsked) {
    each_band(plane, add);
    return stride;
  }
  for (Index i = 0; i < kRowsAsked && stride != 1; ++i) {
    const Index row = i * plane.queries() / kRowsAsked;
    each_run(plane, {row, row + 1}, add);
  }
  return stride;
}

}  // namespace maskctl::recognising
