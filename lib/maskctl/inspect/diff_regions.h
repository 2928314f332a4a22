// Differences told as rows, columns and rectangles that are opened or closed; private to inspect.
#pragma once

#include "maskctl/inspect/description.h"
#include "maskctl/mask/plane.h"

namespace maskctl {

/// A chain of open: and close: steps, of rows, of columns, and of rectangles, that turns `from`
/// into `to` but for `residue` cells. A region is named only where that is shorter than its cells.
struct Regions {
  Chain chain;
  Index bits = 0;
  Index residue = 0;
};
Regions regions_between(const PlanePtr& from, const PlanePtr& to);

}  // namespace maskctl
