// Where the keys of a row begin and end.
#pragma once

#include "maskctl/mask/plane.h"

namespace maskctl {

/// The first open key of a row, -1 without one.
Index first_open_key(const Keys& keys);
/// The first open key of a row in a range, -1 without one.
Index first_open_key(const Keys& keys, Range range);

/// From the first open key of a row to past the last; empty without one.
Range hull_of(const Keys& keys);

/// Calls f(equal_rows, hull_of their keys) for the rows that see any key.
template <typename F>
void each_open_row(const Plane& plane, F&& f) {
  plane.rows({0, plane.queries()}, [&](Range equal, const Keys& keys) {
    const Range open = hull_of(keys);
    if (!open.empty()) f(equal, open);
  });
}

}  // namespace maskctl
