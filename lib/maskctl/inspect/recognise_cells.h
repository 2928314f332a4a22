// Sets of cells as recognise reads them: bands, whatever the plane is made of; private to inspect.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "maskctl/mask/bands.h"
#include "maskctl/mask/row_keys.h"
#include "maskctl/mask/words.h"

namespace maskctl::recognising {

/// f(rows, band) for each run of keys of the rows `q`, row by row.
template <typename F>
void each_run(const Plane& plane, Range q, F&& f) {
  std::vector<Run> scratch;
  plane.rows(q, [&](Range rows, const Keys& keys) {
    if (keys.is_words()) {
      scratch.clear();
      words_to_runs(keys.words, scratch);
    }
    for (const Run& run : keys.is_words() ? std::span<const Run>(scratch) : keys.runs) {
      f(rows, Band{run.begin, run.end, 0, 0});
    }
  });
}

/// f(rows, band) for disjoint bands that together are the open cells; `band` is not empty on any of
/// the rows. O(bands) where the plane is held as bands, else O(runs).
template <typename F>
void each_band(const Plane& plane, F&& f) {
  const auto* slabs = slabs_of(plane);
  if (!slabs) return each_run(plane, {0, plane.queries()}, f);
  for (const Slab& slab : *slabs) {
    for (const Band& band : slab.bands) f(slab.q, band);
  }
}

/// f(rows, band) as above, but with one band for each row of a plane that is not held as bands:
/// from the first to the last key.
template <typename F>
void each_hull(const Plane& plane, F&& f) {
  if (slabs_of(plane)) return each_band(plane, f);
  each_open_row(plane, [&](Range rows, Range keys) { f(rows, Band{keys.begin, keys.end, 0, 0}); });
}

/// f(rows, keys) from the first row on, until it returns false; true when it never does. Few rows
/// are read ahead of an early end.
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

/// All keys that a band sees on its rows: slopes only grow.
inline Range keys_of(Range rows, const Band& band) {
  return {band.begin_at(rows.begin), band.end_at(rows.end - 1)};
}

/// The same cells in the form that is cheapest to ask: bands where few lines bound the mask, else
/// stored rows. A plane that can be neither, or has more than `max_cells`, stays as it is.
PlanePtr compacted(const PlanePtr& plane, Index max_cells);

/// Row q sees the keys of intervals[q], which may be empty: as bands; null where few lines do not
/// bound them.
PlanePtr bounding_lines(std::span<const Run> intervals, Index keys);

/// Least and greatest key - query.
struct Diagonals {
  Index low = 0, high = 0;
};
/// Nothing for a plane without cells.
std::optional<Diagonals> diagonals(const Plane& plane);

/// Queries and keys from the first to past the last one with cells; empty ranges without.
struct Hull {
  Range q, k;
};
Hull hull_of(const Plane& plane);

/// The first key that any query sees; plane.keys() when there is none.
Index first_key(const Plane& plane);

/// 1 for each query and each key with a cell.
struct Touched {
  std::vector<std::uint8_t> q, k;
};
Touched touched(const Plane& plane);
/// Stretches of neighbours whose flag is not 0.
std::vector<Range> ranges_of(std::span<const std::uint8_t> flags);

/// What one reading of the plane takes: its bands, or the words of its memory.
Index weight_of(const Plane& plane);

/// The greatest stride such that all key - query are multiples of it; 0 for no cells or only the
/// main diagonal. Of large planes only some rows are looked at.
Index common_stride(const Plane& plane);

}  // namespace maskctl::recognising
