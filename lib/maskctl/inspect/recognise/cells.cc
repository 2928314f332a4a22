#include "maskctl/inspect/recognise/cells.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "maskctl/mask/rows.h"

namespace maskctl::recognition {
namespace {

constexpr Index kMostBands = Index{1} << 17;  // with more bands, stored rows are cheaper
// With more runs of keys per row, cutting along a diagonal could make quadratically many bands.
constexpr std::size_t kBandsPerRow = 16;
constexpr Index kStoredRuns = Index{1} << 26;

/// Joins rows into slabs, which are ranges of rows whose runs of open keys begin and end on
/// straight lines. Ends of runs that move by one key per row become lines of slope 1.
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
  /// Extends the last slab (rows whose runs of open keys begin and end on straight lines) by
  /// `rows`, which all have the open keys `runs`, if these runs continue its lines. Returns whether
  /// they do.
  bool joins(Range rows, std::span<const Run> runs) {
    if (slabs_.empty() || runs.size() != last_.size()) return false;
    Slab& slab = slabs_.back();
    const bool free =
        slab.q.size() == 1 && rows.size() == 1;  // a single row does not determine the slopes
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

/// Returns the plane as bands (runs of open keys between straight lines); null if that takes too
/// many bands.
PlanePtr as_bands(const Plane& plane) {
  SlabMaker maker;
  std::vector<Run> scratch;
  const bool few = each_row_while(plane, [&](Range rows, const Keys& keys) {
    maker.add(rows, as_runs(keys, scratch));
    return !maker.failed();  // planes that do not fit bands mostly fail in the first rows
  });
  if (!few) return nullptr;
  return bands(plane.queries(), plane.keys(), maker.take());
}

}  // namespace

PlanePtr compacted(const PlanePtr& plane, Index max_cells) {
  if (slabs_of(*plane)) return plane;
  if (PlanePtr lines = as_bands(*plane)) return lines;
  if (!plane->computed() || plane->queries() * plane->keys() > max_cells) return plane;
  PlanePtr kept = stored(*plane, kStoredRuns);
  return kept ? kept : plane;
}

PlanePtr bounding_lines(std::span<const Run> intervals, Index keys) {
  const auto step_to = [&](std::size_t row) {
    const Run &now = intervals[row], &before = intervals[row - 1];
    return Run{now.begin - before.begin, now.end - before.end};
  };
  const auto is_slope = [](std::int32_t step) { return step == 0 || step == 1; };
  std::vector<Slab> slabs;
  for (std::size_t row = 0, end = 0; row < intervals.size(); row = end) {
    Run slope;
    if (++end < intervals.size()) {
      const Run step = step_to(end);
      if (is_slope(step.begin) && is_slope(step.end)) slope = step;
      while (end < intervals.size() && step_to(end) == slope) ++end;
    }
    const Range q{static_cast<Index>(row), static_cast<Index>(end)};
    slabs.push_back(
        {q,
         {{intervals[row].begin - slope.begin * q.begin, intervals[row].end - slope.end * q.begin,
           static_cast<std::uint8_t>(slope.begin), static_cast<std::uint8_t>(slope.end)}}});
    if (std::ssize(slabs) > kMostBands / 2) return nullptr;
  }
  return bands(std::ssize(intervals), keys, slabs);
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
    out = {hull(out.q, rows), hull(out.k, keys)};
  });
  return out;
}

Index first_key(const Plane& plane) {
  if (slabs_of(plane)) {
    const Hull hull = hull_of(plane);
    return hull.k.empty() ? plane.keys() : hull.k.begin;
  }
  Index first = plane.keys();
  each_row_while(plane, [&](Range, const Keys& keys) {
    if (const Index key = first_open_key(keys); key >= 0) first = std::min(first, key);
    return first > 0;
  });
  return first;
}

namespace {

/// Returns flags that are 1 for each position in any of the ranges.
std::vector<std::uint8_t> flags_of(std::vector<Range> ranges, Index size) {
  std::ranges::sort(ranges, {}, &Range::begin);
  std::vector<std::uint8_t> flags(static_cast<std::size_t>(size));
  Index reached = 0;
  for (const Range& range : ranges) {
    const Index begin = std::max(range.begin, reached);
    if (begin >= range.end) continue;
    std::fill(flags.begin() + begin, flags.begin() + range.end, std::uint8_t{1});
    reached = range.end;
  }
  return flags;
}

Touched touched_by_bands(const Plane& plane) {
  std::vector<Range> q, k;
  each_band(plane, [&](Range rows, const Band& band) {
    q.push_back(rows);
    k.push_back(keys_of(rows, band));
  });
  return {flags_of(std::move(q), plane.queries()), flags_of(std::move(k), plane.keys())};
}

}  // namespace

Touched touched(const Plane& plane) {
  if (slabs_of(plane)) return touched_by_bands(plane);
  Touched out{std::vector<std::uint8_t>(static_cast<std::size_t>(plane.queries())),
              std::vector<std::uint8_t>(static_cast<std::size_t>(plane.keys()))};
  std::vector<std::uint64_t> seen(static_cast<std::size_t>(words_for(plane.keys())));
  std::vector<std::int32_t> begins(out.k.size() +
                                   1);  // runs that begin at a key minus those that end
  plane.rows({0, plane.queries()}, [&](Range rows, const Keys& keys) {
    if (hull_of(keys).empty()) return;
    std::fill(out.q.begin() + rows.begin, out.q.begin() + rows.end, std::uint8_t{1});
    for (const Run& run : keys.runs) {
      ++begins[static_cast<std::size_t>(run.begin)];
      --begins[static_cast<std::size_t>(run.end)];
    }
    if (keys.is_words()) combine_words(Op::kOr, seen, keys.words, seen);
  });
  unpack_bytes(seen, out.k);
  std::int32_t depth = 0;
  for (std::size_t key = 0; key < out.k.size(); ++key) {
    depth += begins[key];
    out.k[key] |= static_cast<std::uint8_t>(depth > 0);
  }
  return out;
}

std::vector<Range> ranges_of(std::span<const std::uint8_t> flags) {
  std::vector<Range> out;
  for (const Run& run : byte_runs(flags)) out.push_back({run.begin, run.end});
  return out;
}

DifferingCells::DifferingCells(const PlanePtr& target) : target_(target) {
  constexpr Index kSmallCells = Index{1} << 14;
  if (target->queries() * target->keys() > kSmallCells) return;
  words_per_row_ = words_for(target->keys());
  words_.resize(as_size(target->queries() * words_per_row_));
  target->rows({0, target->queries()}, [&](Range rows, const Keys& keys) {
    for (Index q = rows.begin; q < rows.end; ++q) {
      const auto row = std::span(words_).subspan(as_size(q * words_per_row_));
      if (keys.is_words()) std::ranges::copy(keys.words, row.begin());
      for (const Run& run : keys.runs) set_bits(row, {run.begin, run.end});
    }
  });
  open_ = popcount(words_);
}

Index DifferingCells::operator()(const PlanePtr& plane) const {
  if (words_per_row_ == 0) return differing_cells(plane, target_);
  Index out = open_;  // as if no row had an open key
  std::vector<std::uint64_t> row(as_size(words_per_row_));
  plane->rows({0, plane->queries()}, [&](Range rows, const Keys& keys) {
    if (keys.is_words()) {
      std::ranges::copy(keys.words, row.begin());
    } else {
      runs_to_words(keys.runs, row);
    }
    const std::uint64_t* target = words_.data() + rows.begin * words_per_row_;
    for (Index q = rows.begin; q < rows.end; ++q) {
      for (const std::uint64_t word : row) {
        out += std::popcount(word ^ *target) - std::popcount(*target);
        ++target;
      }
    }
  });
  return out;
}

namespace {

/// About how many runs, or words, the rows of a large plane are read as, by some of them: rows that
/// are computed take no memory. 0 for other planes.
Index runs_of_large(const Plane& plane) {
  constexpr Index kLarge = Index{1} << 26, kRowsRead = 64;
  if (plane.queries() * plane.keys() <= kLarge) return 0;
  const Index step = std::max<Index>(1, plane.queries() / kRowsRead);
  Index read = 0, runs = 0;
  for (Index q = 0; q < plane.queries(); q += step, ++read) {
    plane.rows({q, q + 1}, [&runs](Range, const Keys& keys) {
      runs += std::ssize(keys.runs) + std::ssize(keys.words);
    });
  }
  return runs * plane.queries() / read;
}

}  // namespace

Index weight_of(const Plane& plane) {
  const auto* slabs = slabs_of(plane);
  if (!slabs) return std::max(plane.bytes() / 8, runs_of_large(plane));
  Index bands = 0;
  for (const Slab& slab : *slabs) bands += std::ssize(slab.bands);
  return bands;
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

}  // namespace maskctl::recognition
