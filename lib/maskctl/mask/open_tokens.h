// Which rows and columns of a plane hold open cells; private to the mask layer.
#pragma once

#include <span>
#include <vector>

#include "maskctl/mask/plane.h"

namespace maskctl {

/// f(equal_rows, keys from the first open one to past the last) for the rows that see any key.
template <typename F>
void each_open_row(const Plane& plane, F&& f);

/// Runs of keys that any query sees.
std::vector<Run> open_keys(const Plane& plane);

/// From the first open key of a row to past the last; empty if none is.
Range hull(const Keys& keys);

template <typename F>
void each_open_row(const Plane& plane, F&& f) {
  plane.rows({0, plane.queries()}, [&](Range equal, const Keys& keys) {
    const Range open = hull(keys);
    if (!open.empty()) f(equal, open);
  });
}

}  // namespace maskctl
