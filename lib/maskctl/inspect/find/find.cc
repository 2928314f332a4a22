#include "maskctl/inspect/find/find.h"

#include <algorithm>
#include <cstdlib>

#include "maskctl/mask/planes/words.h"

namespace maskctl {
namespace {

/// The half of `rows` that a search in this direction reaches first.
Range near_half(Range rows, Way way) {
  const Index half = (rows.size() + 1) / 2;
  return way == Way::kForward ? Range{rows.begin, rows.begin + half}
                              : Range{rows.end - half, rows.end};
}

Range without(Range rows, Range near, Way way) {
  return way == Way::kForward ? Range{near.end, rows.end} : Range{rows.begin, near.begin};
}

Range nearest(Range rows, Index count, Way way) {
  return intersect(rows, way == Way::kForward ? Range{rows.begin, rows.begin + count}
                                              : Range{rows.end - count, rows.end});
}

/// A search of all rows reports its progress about this many times.
constexpr Index kTold = 64;

/// The nearest of `rows` for which `any` holds. any(range) says whether it holds for some row of a
/// range. It is called for longer and longer ranges, then for halves of the first range that has
/// such a row.
template <typename Any>
std::optional<Index> nearest_row(Range rows, Way way, const RowsPassed& passed, Any&& any) {
  const Range all = rows;
  const Index most = std::max<Index>(all.size() / kTold, 1);
  for (Index count = 1; !rows.empty(); count = std::min(count * 2, most)) {
    Range found = nearest(rows, count, way);
    rows = without(rows, found, way);
    if (!any(found)) {
      if (passed) passed(all.size() - rows.size());
      continue;
    }
    while (found.size() > 1) {
      const Range near = near_half(found, way);
      found = any(near) ? near : without(found, near, way);
    }
    return found.begin;
  }
  return std::nullopt;
}

bool has_key(const Keys& keys, Index key) {
  if (keys.is_words()) return (keys.words[as_size(key / 64)] >> (key % 64) & 1) != 0;
  const auto run = std::ranges::partition_point(keys.runs, [&](Run r) { return r.end <= key; });
  return run != keys.runs.end() && run->begin <= key;
}

Range rows_on(const Plane& plane, Index from, Way way) {
  return way == Way::kForward ? Range{from + 1, plane.queries()} : Range{0, from};
}

/// The open key of a row, within `keys`, that a search in this direction reaches first.
std::optional<Index> nearest_key(const Plane& plane, Index query, Range keys, Way way) {
  std::optional<Index> found;
  for (const Run& run : row_runs(plane, query)) {
    const Range open = intersect({run.begin, run.end}, keys);
    if (open.empty()) continue;
    if (way == Way::kForward) return open.begin;
    found = open.end - 1;
  }
  return found;
}

/// The partial tile of a tile row, within `tiles`, that a search in this direction reaches first.
std::optional<Index> nearest_partial(const Plane& plane, Range queries, Index key_tile, Range tiles,
                                     Way way) {
  std::vector<TileRun> runs;
  plane.tiles(queries, key_tile, runs);
  std::optional<Index> found;
  for (const TileRun& run : runs) {
    if (run.fill != Fill::kPartial) continue;
    const Range partial = intersect({run.first, Index{run.first} + run.count}, tiles);
    if (partial.empty()) continue;
    if (way == Way::kForward) return partial.begin;
    found = partial.end - 1;
  }
  return found;
}

}  // namespace

std::vector<Run> row_runs(const Plane& plane, Index query) {
  std::vector<Run> out;
  plane.rows({query, query + 1}, [&](Range, const Keys& keys) {
    if (keys.is_words()) {
      words_to_runs(keys.words, out);
    } else {
      out.assign(keys.runs.begin(), keys.runs.end());
    }
  });
  return out;
}

std::vector<Run> column_runs(const Plane& plane, Index key, Range queries) {
  std::vector<Run> out;
  plane.rows(queries, [&](Range equal, const Keys& keys) {
    if (!has_key(keys, key)) return;
    const auto begin = static_cast<std::int32_t>(equal.begin);
    const auto end = static_cast<std::int32_t>(equal.end);
    if (!out.empty() && out.back().end == begin) {
      out.back().end = end;
    } else {
      out.push_back({begin, end});
    }
  });
  return out;
}

std::optional<Place> next_open(const Plane& plane, Place from, Way way, const RowsPassed& passed) {
  const Range all{0, plane.keys()};
  const Range rest = way == Way::kForward ? Range{from.key + 1, plane.keys()} : Range{0, from.key};
  if (const auto key = nearest_key(plane, from.query, rest, way)) return Place{from.query, *key};
  const auto query = nearest_row(rows_on(plane, from.query, way), way, passed, [&](Range rows) {
    return plane.classify(rows, all) != Fill::kEmpty;
  });
  if (!query) return std::nullopt;
  return Place{*query, nearest_key(plane, *query, all, way).value()};
}

std::optional<Index> next_empty_row(const Plane& plane, Index from, Way way,
                                    const RowsPassed& passed) {
  return nearest_row(rows_on(plane, from, way), way, passed, [&](Range rows) {
    bool empty = false;
    plane.row_sizes(rows, [&](Range, const Plane::RowSize& size) { empty |= size.keys == 0; });
    return empty;
  });
}

std::optional<Place> next_partial_tile(const Plane& plane, BlockSize tile, Place from, Way way,
                                       const RowsPassed& passed) {
  const Range all{0, ceil_div(plane.keys(), tile.k)};
  const Index at = from.key / tile.k;
  Range tiles = way == Way::kForward ? Range{at + 1, all.end} : Range{0, at};
  const Index step = way == Way::kForward ? 1 : -1;
  for (Index row = from.query / tile.q; row >= 0 && row * tile.q < plane.queries(); row += step) {
    const Range queries{row * tile.q, std::min((row + 1) * tile.q, plane.queries())};
    if (const auto found = nearest_partial(plane, queries, tile.k, tiles, way)) {
      return Place{queries.begin, *found * tile.k};
    }
    tiles = all;
    if (passed) passed((std::abs(row - from.query / tile.q) + 1) * tile.q);
  }
  return std::nullopt;
}

}  // namespace maskctl
