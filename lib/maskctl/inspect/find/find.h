// The nearest cell or row of some kind before or after another: how a reader walks a mask.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "maskctl/mask/block_size.h"
#include "maskctl/mask/plane.h"

namespace maskctl {

/// A cell of a plane. Places are ordered by query, then key.
struct Place {
  Index query = 0, key = 0;
  friend bool operator==(const Place&, const Place&) = default;
};

enum class Way : std::uint8_t { kForward, kBack };

/// Hears how many rows a search has passed without finding anything.
using RowsPassed = std::function<void(Index rows)>;

/// The nearest open cell after (or before) `from`. Reads as much of the structure as lies between
/// the two, and never single cells of rows without any.
std::optional<Place> next_open(const Plane& plane, Place from, Way way,
                               const RowsPassed& passed = {});

/// The nearest query after (or before) `from` that sees no key.
std::optional<Index> next_empty_row(const Plane& plane, Index from, Way way,
                                    const RowsPassed& passed = {});

/// The first cell of the nearest tile that is neither empty nor full, in the order of tile rows,
/// then tiles, after (or before) the tile that holds `from`.
std::optional<Place> next_partial_tile(const Plane& plane, BlockSize tile, Place from, Way way,
                                       const RowsPassed& passed = {});

/// The keys that one query sees, ascending.
std::vector<Run> row_runs(const Plane& plane, Index query);
/// The queries of a range that see one key, ascending. The cost grows with the number of queries.
std::vector<Run> column_runs(const Plane& plane, Index key, Range queries);

}  // namespace maskctl
