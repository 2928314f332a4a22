// Describes differences as rows, columns and rectangles to open or close; private to inspect.
#pragma once

#include "maskctl/inspect/recognise/description.h"
#include "maskctl/mask/plane.h"

namespace maskctl {

/// A chain of open: and close: steps on rows, columns and rectangles that turns `from` into `to` up
/// to `residue` cells. Contains only regions that are shorter to describe than their cells.
struct Regions {
  Chain chain;
  Index bits = 0;
  Index residue = 0;
};
Regions regions_between(const PlanePtr& from, const PlanePtr& to);

}  // namespace maskctl
