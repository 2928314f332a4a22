// Tiles of a block of queries, and which of their cells are closed.
#include "maskctl/attention/core/cpu_tiles.h"

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
    Row row;
    row.is_words = keys.is_words();
    row.begin = row.is_words ? words_.size() : runs_.size();
    words_.insert(words_.end(), keys.words.begin(), keys.words.end());
    runs_.insert(runs_.end(), keys.runs.begin(), keys.runs.end());
    row.end = row.is_words ? words_.size() : runs_.size();
    rows_.insert(rows_.end(), static_cast<std::size_t>(equal_rows.size()), row);
  });
}

bool QueryBlock::sees(Index row) const {
  if (any_full_) return true;
  if (rows_.empty()) return false;
  const Row& r = rows_[static_cast<std::size_t>(row)];
  if (!r.is_words) return r.end > r.begin;
  return std::any_of(words_.begin() + static_cast<std::ptrdiff_t>(r.begin),
                     words_.begin() + static_cast<std::ptrdiff_t>(r.end),
                     [](std::uint64_t word) { return word != 0; });
}

std::vector<Run>::const_iterator QueryBlock::last_run(const Row& row) const {
  return runs_.begin() + static_cast<std::ptrdiff_t>(row.end);
}

std::vector<Run>::const_iterator QueryBlock::first_run(const Row& row, Index key) const {
  return std::partition_point(runs_.begin() + static_cast<std::ptrdiff_t>(row.begin), last_run(row),
                              [key](const Run& run) { return Index{run.end} <= key; });
}

template <class F>
void QueryBlock::for_each_gap(const Row& row, Range keys, F&& f) const {
  if (row.is_words) {
    for (Index k = keys.begin; k < keys.end; ++k) {
      const std::uint64_t word = words_[row.begin + static_cast<std::size_t>(k / 64)];
      if ((word >> (k % 64) & 1) == 0) f(Range{k, k + 1});
    }
    return;
  }
  Index next = keys.begin;
  for (auto run = first_run(row, keys.begin); run != last_run(row) && run->begin < keys.end;
       ++run) {
    if (run->begin > next) f(Range{next, run->begin});
    next = run->end;
  }
  if (next < keys.end) f(Range{next, keys.end});
}

Range QueryBlock::span(Index row, Range keys) const {
  const Row& r = rows_[as_size(row)];
  Index begin = keys.end, end = keys.begin;
  const auto add = [&](Range open) {
    open = intersect(open, keys);
    if (open.empty()) return;
    begin = std::min(begin, open.begin), end = std::max(end, open.end);
  };
  if (r.is_words) {
    for (Index w = keys.begin / 64; w * 64 < keys.end; ++w) {
      const std::uint64_t word = words_[r.begin + as_size(w)];
      if (word != 0) add({w * 64 + std::countr_zero(word), (w + 1) * 64 - std::countl_zero(word)});
    }
    return {begin, end};
  }
  for (auto run = first_run(r, keys.begin); run != last_run(r) && run->begin < keys.end; ++run) {
    add({run->begin, run->end});
  }
  return {begin, end};
}

void QueryBlock::close_row(Index row, Range keys, float value, float* x) const {
  for_each_gap(rows_[as_size(row)], keys, [&](Range gap) {
    std::fill(x + (gap.begin - keys.begin), x + (gap.end - keys.begin), value);
  });
}

void QueryBlock::close_columns(Range keys, float value, float* x, Index stride) const {
  for (const Row& row : rows_) {
    for_each_gap(row, keys, [&](Range gap) {
      for (Index k = gap.begin; k < gap.end; ++k) x[(k - keys.begin) * stride] = value;
    });
    ++x;
  }
}

}  // namespace maskctl::attention
