// What a tile of a plane of bands holds, told by the lines that bound it; private to the mask
// layer.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "maskctl/mask/planes/bands_plane.h"

namespace maskctl {

std::uint64_t hash_of_values(std::span<const std::int32_t> values);

/// The lines that bound a tile, relative to the tile. Equal keys mean equal cells, but equal cells
/// may have different keys. O(bands of the tile), whatever its size.
using BandKey = std::vector<std::int32_t>;
void band_key(std::span<const Slab> slabs, Range q, Range k, BandKey& key);

struct BandKeyHash {
  std::size_t operator()(const BandKey& key) const { return hash_of_values(key); }
};
/// What is known of tiles by their keys.
template <class T>
using BandKeyMap = std::unordered_map<BandKey, T, BandKeyHash>;

}  // namespace maskctl
