// Identifies the cells of a tile of a plane of bands by the lines that bound them; private to the
// mask layer.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "maskctl/mask/planes/bands_plane.h"

namespace maskctl {

std::uint64_t hash_of_values(std::span<const std::int32_t> values);

/// The lines that bound the open cells of a tile, relative to the tile. Tiles with equal keys have
/// equal cells, but equal cells may have different keys. O(bands in the tile), whatever its size.
using BandKey = std::vector<std::int32_t>;
void band_key(std::span<const Slab> slabs, Range q, Range k, BandKey& key);

/// The key of a tile packed into one number, which takes a tenth of the time of a BandKey. All rows
/// of the tile must see `band` and no other band. Absent if a side has more than kMostPacked cells.
inline constexpr Index kMostPacked = Index{1} << 14;
std::optional<std::uint64_t> packed_band_key(const Band& band, Range q, Range k);

struct BandKeyHash {
  std::size_t operator()(const BandKey& key) const { return hash_of_values(key); }
};
/// A map from the BandKeys of tiles to something known about these tiles, such as the number that
/// the cells of the tile have in a table.
template <class T>
using BandKeyMap = std::unordered_map<BandKey, T, BandKeyHash>;

}  // namespace maskctl
