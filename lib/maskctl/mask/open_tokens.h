// Which rows and columns of a plane hold open cells; private to the mask layer.
#pragma once

#include <span>
#include <vector>

#include "maskctl/mask/plane.h"

namespace maskctl {

/// Calls f(equal_rows, range from the first open key to past the last) for rows that see any key.
template <typename F>
void each_open_row(const Plane& plane, F&& f);

/// Runs of keys that any query sees.
std::vector<Run> open_keys(const Plane& plane);

/// The range from the first open key of a row to past the last; empty if no key is open.
Range hull(const Keys& keys);

template <typename F>
void each_open_row(const Plane& plane, F&& f) {
  plane.rows({0, plane.queries()}, [&](Range equal, const Keys& keys) {
    const Range open = hull(keys);
    if (!open.empty()) f(equal, open);
  });
}

}  // namespace maskctl
