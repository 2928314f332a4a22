// Sets of cells as recognise reads them, as bands whatever the plane is made of; private to
// inspect.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/row_lists/row_keys.h"
#include "maskctl/mask/planes/words.h"

namespace maskctl::recognition {

/// Calls f(rows, band) for each run of keys in the rows `q`, row by row.
template <typename F>
void each_run(const Plane& plane, Range q, F&& f) {
  std::vector<Run> scratch;
  plane.rows(q, [&](Range rows, const Keys& keys) {
    for (const Run& run : as_runs(keys, scratch)) f(rows, Band{run.begin, run.end, 0, 0});
  });
}

/// Calls f(rows, band) for disjoint bands that together are the open cells; no band is empty on any
/// of its rows. O(bands) if the plane is stored as bands, else O(runs).
template <typename F>
void each_band(const Plane& plane, F&& f) {
  const auto* slabs = slabs_of(plane);
  if (!slabs) return each_run(plane, {0, plane.queries()}, f);
  for (const Slab& slab : *slabs) {
    for (const Band& band : slab.bands) f(slab.q, band);
  }
}

/// each_band(); but of a plane that is not stored as bands one band per row, from its first to its
/// last key.
template <typename F>
void each_hull(const Plane& plane, F&& f) {
  if (slabs_of(plane)) return each_band(plane, f);
  each_open_row(plane, [&](Range rows, Range keys) { f(rows, Band{keys.begin, keys.end, 0, 0}); });
}

/// Calls f(rows, keys) from the first row on until it returns false; returns true if it never does.
/// Reads few rows ahead, in case it ends early.
template <typename F>
bool each_row_while(const Plane& plane, F&& f) {
  constexpr Index kRowsAtOnce = 1024;
  bool goes_on = true;
  Index step = 1;
  for (Index row = 0; row < plane.queries() && goes_on;
       row += step, step = std::min(2 * step, kRowsAtOnce)) {
    plane.rows({row, std::min(row + step, plane.queries())},
               [&](Range rows, const Keys& keys) { goes_on = goes_on && f(rows, keys); });
  }
  return goes_on;
}

/// All keys that a band covers on its rows; uses that slopes are never negative.
inline Range keys_of(Range rows, const Band& band) {
  return {band.begin_at(rows.begin), band.end_at(rows.end - 1)};
}

/// A plane of the same cells in the form that is cheapest to read: bands if few lines bound the
/// mask, else stored rows. A plane that can be neither, or has more than `max_cells`, is returned
/// unchanged.
PlanePtr compacted(const PlanePtr& plane, Index max_cells);

/// A plane of bands in which row q sees the keys of intervals[q], which may be empty; null when few
/// lines do not bound them.
PlanePtr bounding_lines(std::span<const Run> intervals, Index keys);

/// The least and greatest key - query.
struct Diagonals {
  Index low = 0, high = 0;
};
/// Nothing for a plane without cells.
std::optional<Diagonals> diagonals(const Plane& plane);

/// The queries and keys from the first to past the last one with an open cell; empty ranges if
/// none.
struct Hull {
  Range q, k;
};
Hull hull_of(const Plane& plane);

/// The first key that any query sees; plane.keys() if there is none.
Index first_key(const Plane& plane);

/// 1 for each query and each key with an open cell.
struct Touched {
  std::vector<std::uint8_t> q, k;
};
Touched touched(const Plane& plane);
/// The ranges of neighbours whose flag is not 0.
std::vector<Range> ranges_of(std::span<const std::uint8_t> flags);

/// The cost of reading the plane once: its bands, or the words of its memory.
Index weight_of(const Plane& plane);

/// The largest stride that divides every key - query; 0 without cells or with only the main
/// diagonal. Large planes are sampled by some of their rows.
Index common_stride(const Plane& plane);

}  // namespace maskctl::recognition
