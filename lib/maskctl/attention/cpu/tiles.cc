// Tiles of a block of queries, and which of their cells are closed.
#include "maskctl/attention/cpu/tiles.h"

#include <algorithm>
#include <bit>

namespace maskctl::attention {

void QueryBlock::read(const Plane& plane, Range queries, Index key_tile) {
  runs_of_tiles_.clear();
  tiles_.clear();
  rows_.clear();
  any_full_ = false;
  bool any_partial = false;
  plane.tiles(queries, key_tile, runs_of_tiles_);
  for (const TileRun& run : runs_of_tiles_) {
    for (Index t = run.first; t < Index{run.first} + run.count; ++t) {
      const Range keys{t * key_tile, std::min((t + 1) * key_tile, plane.keys())};
      tiles_.push_back({keys, run.fill == Fill::kFull});
      any_full_ |= run.fill == Fill::kFull;
      any_partial |= run.fill == Fill::kPartial;
    }
  }
  if (any_partial) read_rows(plane, queries);
}

void QueryBlock::read_rows(const Plane& plane, Range queries) {
  runs_.clear();
  words_.clear();
  plane.rows(queries, [&](Range equal_rows, const Keys& keys) {
    const Row row = row_of(keys);
    for (Index i = 0; i < equal_rows.size(); ++i) rows_.push_back(row);
  });
}

namespace {

/// From the first to the last bit that is set inside `keys`.
Range hull_of(std::span<const std::uint64_t> words, Range keys) {
  Range hull;
  for (Index w = keys.begin / 64; w * 64 < keys.end; ++w) {
    const Index before = std::max<Index>(keys.begin - w * 64, 0);
    const Index after = std::max<Index>((w + 1) * 64 - keys.end, 0);
    const std::uint64_t word =
        words[as_size(w)] & (~std::uint64_t{0} << before) & (~std::uint64_t{0} >> after);
    if (word == 0) continue;
    if (hull.empty()) hull.begin = w * 64 + std::countr_zero(word);
    hull.end = (w + 1) * 64 - std::countl_zero(word);
  }
  return hull;
}

template <class T>
void append(std::span<const T> values, std::vector<T>& to) {
  to.insert(to.end(), values.begin(), values.end());
}

}  // namespace

QueryBlock::Row QueryBlock::row_of(const Keys& keys) {
  if (keys.is_words()) {
    const std::size_t begin = words_.size();
    append(keys.words, words_);
    return {hull_of(keys.words, {0, static_cast<Index>(keys.words.size()) * 64}), begin,
            words_.size(), true};
  }
  if (keys.runs.empty()) return {};
  const Range hull{keys.runs.front().begin, keys.runs.back().end};
  if (keys.runs.size() == 1) return {hull};
  const std::size_t begin = runs_.size();
  append(keys.runs, runs_);
  return {hull, begin, runs_.size(), false};
}

bool QueryBlock::sees(Index row) const {
  return any_full_ || (!rows_.empty() && !rows_[as_size(row)].keys.empty());
}

std::span<const Run> QueryBlock::runs_from(const Row& row, Index key) const {
  const auto end = runs_.begin() + static_cast<std::ptrdiff_t>(row.end);
  return {std::partition_point(runs_.begin() + static_cast<std::ptrdiff_t>(row.begin), end,
                               [key](const Run& run) { return Index{run.end} <= key; }),
          end};
}

template <class F>
void QueryBlock::for_each_gap(const Row& row, Range keys, F&& f) const {
  if (row.is_words) {
    for (Index k = keys.begin; k < keys.end; ++k) {
      const std::uint64_t word = words_[row.begin + as_size(k / 64)];
      if ((word >> (k % 64) & 1) == 0) f(Range{k, k + 1});
    }
    return;
  }
  Index next = keys.begin;
  const auto skip = [&](Range open) {
    if (open.begin > next) f(Range{next, open.begin});
    next = open.end;
  };
  if (row.is_one_run()) {
    const Range open = intersect(row.keys, keys);
    if (!open.empty()) skip(open);
  } else {
    for (const Run& run : runs_from(row, keys.begin)) {
      if (run.begin >= keys.end) break;
      skip({run.begin, run.end});
    }
  }
  if (next < keys.end) f(Range{next, keys.end});
}

Range QueryBlock::span(Index row, Range keys) const {
  const Row& r = rows_[as_size(row)];
  const Range inside = intersect(r.keys, keys);
  if (inside.empty() || r.is_one_run() || inside == r.keys) return inside;
  if (r.is_words) {
    return hull_of(std::span(words_).subspan(r.begin, r.end - r.begin), inside);
  }
  Range hull;
  for (const Run& run : runs_from(r, inside.begin)) {
    if (run.begin >= inside.end) break;
    const Range open = intersect({run.begin, run.end}, inside);
    hull = {hull.empty() ? open.begin : hull.begin, open.end};
  }
  return hull;
}

void QueryBlock::close_row(Index row, Range keys, float value, float* x) const {
  for_each_gap(rows_[as_size(row)], keys, [&](Range gap) {
    std::fill(x + (gap.begin - keys.begin), x + (gap.end - keys.begin), value);
  });
}

void QueryBlock::close_column(Index row, Range keys, float value, float* x, Index stride) const {
  for_each_gap(rows_[as_size(row)], keys, [&](Range gap) {
    for (Index k = gap.begin; k < gap.end; ++k) x[(k - keys.begin) * stride] = value;
  });
}

}  // namespace maskctl::attention
