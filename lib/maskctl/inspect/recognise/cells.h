// Reads the open cells of any plane as bands, which are runs of keys between straight lines;
// private to inspect.
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

/// Like each_band(), but if the plane is not stored as bands, f gets one band per row, from the
/// first to the last open key.
template <typename F>
void each_hull(const Plane& plane, F&& f) {
  if (slabs_of(plane)) return each_band(plane, f);
  each_open_row(plane, [&](Range rows, Range keys) { f(rows, Band{keys.begin, keys.end, 0, 0}); });
}

/// Calls f(rows, keys) from the first row on until f returns false; returns true if f never does.
/// Reads only a few rows at first, in case f stops early.
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

/// All keys that a band covers in these rows. Relies on slopes that are never negative.
inline Range keys_of(Range rows, const Band& band) {
  return {band.begin_at(rows.begin), band.end_at(rows.end - 1)};
}

/// The same cells in the form that is cheapest to read: bands if few lines bound them, else stored
/// rows. Returns the plane itself if it has more than `max_cells` cells or fits neither form.
PlanePtr compacted(const PlanePtr& plane, Index max_cells);

/// A plane of bands whose row q has the keys intervals[q], which may be empty. Null if that would
/// take too many bands.
PlanePtr bounding_lines(std::span<const Run> intervals, Index keys);

/// The least and the greatest key - query of the open cells, both inclusive.
struct Diagonals {
  Index low = 0, high = 0;
};
/// The diagonals of the open cells; nothing if there are none.
std::optional<Diagonals> diagonals(const Plane& plane);

/// The smallest ranges of queries and of keys that contain all open cells; empty without open
/// cells.
struct Hull {
  Range q, k;
};
Hull hull_of(const Plane& plane);

/// The first key with an open cell; plane.keys() if there is none.
Index first_key(const Plane& plane);

/// Flags that are 1 for each query, and for each key, with an open cell.
struct Touched {
  std::vector<std::uint8_t> q, k;
};
Touched touched(const Plane& plane);
/// The longest ranges in which no flag is 0.
std::vector<Range> ranges_of(std::span<const std::uint8_t> flags);

/// Counts the cells in which planes differ from a target; the rows of a small one are read once.
class DifferingCells {
 public:
  explicit DifferingCells(const PlanePtr& target);
  Index operator()(const PlanePtr& plane) const;

 private:
  PlanePtr target_;
  Index words_per_row_ = 0;           // 0: the target is large
  std::vector<std::uint64_t> words_;  // its open cells
  Index open_ = 0;
};

/// The cost of reading the plane once: the number of its bands, or of the words in its memory, or,
/// if a large plane computes them, about that of the runs of its rows.
Index weight_of(const Plane& plane);

/// The largest number that divides key - query of every open cell. 0 if there is no open cell, or
/// none off the main diagonal. Of large planes, only some rows are read.
Index common_stride(const Plane& plane);

}  // namespace maskctl::recognition
