// Regions of open cells that touch each other, which a reader can visit instead of single cells.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "maskctl/inspect/find/find.h"

namespace maskctl {

/// Open cells that touch side by side or corner to corner, for example a rectangle, a triangle or a
/// diagonal.
struct Region {
  Place first;          // its first cell in reading order: by query, then key
  Range queries, keys;  // the smallest rectangle around it
  Index cells = 0;
  friend bool operator==(const Region&, const Region&) = default;
};

/// The regions of a plane: open cells that touch each other, or ranges of queries that see no key.
/// If there are very many, only those whose first cell is in the first rows of the plane.
struct RegionsFound {
  std::vector<Region> regions;  // in reading order of their first cells
  Index queries = 0;            // all regions that begin before this query are known
  friend bool operator==(const RegionsFound&, const RegionsFound&) = default;
};

/// The search for regions stops after this many regions, or after reading this many runs of keys.
inline constexpr Index kMostRegions = Index{1} << 16, kMostRegionRuns = Index{1} << 23;

/// The regions of open cells. Reads the structure of the plane once, and skips bands of rows
/// without any open cell.
RegionsFound open_regions(const Plane& plane);

/// The ranges of neighbouring queries that see no key, as regions of all keys.
RegionsFound empty_row_regions(const Plane& plane);

/// The region with the nearest first cell after (or before) `from`; null if there is none.
const Region* next_region(std::span<const Region> regions, Place from, Way way);

}  // namespace maskctl
