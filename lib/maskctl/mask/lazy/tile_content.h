// What partial tiles hold, in forms that can be compared and hashed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "maskctl/mask/bands_plane.h"
#include "maskctl/mask/plane.h"

namespace maskctl::lazy {

/// The cells of one tile: two are equal exactly when the tiles (of one size) hold the same cells,
/// whatever planes they come from. Groups of equal neighbouring rows, each: rows, number of runs
/// and the runs; or rows, -1 and the bits, where the bits take less room.
using TileContent = std::vector<std::int32_t>;

/// Contents of the tiles `columns` (ascending) of the rows q, by one pass over the rows.
std::vector<TileContent> tile_contents(const Plane& plane, Range q, Index key_tile,
                                       std::span<const std::int32_t> columns);

/// The lines that bound a tile, relative to it: equal keys mean equal cells, but equal cells may
/// have several keys. O(bands of the tile), whatever its size.
using BandKey = std::vector<std::int32_t>;
void band_key(const BandsPlane& plane, Range q, Range k, BandKey& key);

std::uint64_t hash_of_values(std::span<const std::int32_t> values);

}  // namespace maskctl::lazy
