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

/// A chain that closes all and opens at most `most` ranges of keys, each for one range of queries,
/// as the images of a text are open to some of its words. Empty for other planes.
Chain ranges_of_keys(const Plane& plane, std::size_t most);

}  // namespace maskctl
