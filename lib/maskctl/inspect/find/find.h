// Finds the nearest cell or row of some kind before or after another, for a reader who moves
// through a mask.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "maskctl/mask/block_size.h"
#include "maskctl/mask/plane.h"

namespace maskctl {

/// A cell of a plane. Cells are ordered by query, then by key.
struct Place {
  Index query = 0, key = 0;
  friend bool operator==(const Place&, const Place&) = default;
};

enum class Way : std::uint8_t { kForward, kBack };

/// Called with the number of rows that a search has passed without finding anything.
using RowsPassed = std::function<void(Index rows)>;

/// The nearest open cell after (or before) `from`. Reads only the structure between the two, and no
/// single cells of rows without an open cell.
std::optional<Place> next_open(const Plane& plane, Place from, Way way,
                               const RowsPassed& passed = {});

/// The nearest query after (or before) `from` that sees no key.
std::optional<Index> next_empty_row(const Plane& plane, Index from, Way way,
                                    const RowsPassed& passed = {});

/// The first cell of the nearest partial tile after (or before) the tile that contains `from`. A
/// partial tile is neither empty nor full. Tiles are ordered by tile row, then within the row.
std::optional<Place> next_partial_tile(const Plane& plane, BlockSize tile, Place from, Way way,
                                       const RowsPassed& passed = {});

/// The keys that one query sees, as ascending runs.
std::vector<Run> row_runs(const Plane& plane, Index query);
/// The queries of a range that see one key, as ascending runs. Takes time in proportion to the
/// queries.
std::vector<Run> column_runs(const Plane& plane, Index key, Range queries);

}  // namespace maskctl
