// Open cells that touch each other, as regions: what a reader walks instead of single cells.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "maskctl/inspect/find/find.h"

namespace maskctl {

/// Open cells that touch, side by side or corner to corner: a rectangle, a triangle, a diagonal.
struct Region {
  Place first;          // its first cell in reading order: by query, then key
  Range queries, keys;  // the smallest rectangle around it
  Index cells = 0;
  friend bool operator==(const Region&, const Region&) = default;
};

/// The regions of a plane. Where there are very many, only those of its first queries are known.
struct RegionsFound {
  std::vector<Region> regions;  // in reading order of their first cells
  Index queries = 0;            // regions that begin in these first queries are known
  friend bool operator==(const RegionsFound&, const RegionsFound&) = default;
};

/// Reading stops after so many regions, or so many runs of keys.
inline constexpr Index kMostRegions = Index{1} << 16, kMostRegionRuns = Index{1} << 23;

/// Reads the structure of the plane once; rows in bands without any open cell are skipped.
RegionsFound open_regions(const Plane& plane);

/// The stretches of neighbouring queries that see no key, as regions of all keys.
RegionsFound empty_row_regions(const Plane& plane);

/// The region with the nearest first cell after (or before) `from`; null if there is none.
const Region* next_region(std::span<const Region> regions, Place from, Way way);

}  // namespace maskctl
