// The first and the last open key of a row.
#pragma once

#include "maskctl/mask/plane.h"

namespace maskctl {

/// The first open key of a row; -1 if there is none.
Index first_open_key(const Keys& keys);
/// The first open key of a row in a range; -1 if there is none.
Index first_open_key(const Keys& keys, Range range);

/// The range from the first to the last open key of a row; empty if there is none.
Range hull_of(const Keys& keys);

/// Calls f(rows, hull) for each range of equal rows that see any key; `hull` is hull_of() their
/// keys.
template <typename F>
void each_open_row(const Plane& plane, F&& f) {
  plane.rows({0, plane.queries()}, [&](Range equal, const Keys& keys) {
    const Range open = hull_of(keys);
    if (!open.empty()) f(equal, open);
  });
}

}  // namespace maskctl
