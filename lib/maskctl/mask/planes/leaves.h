// Planes computed from a rule: equal ids, dilation, random cells, flags, block grids.
#pragma once

#include <cstdint>
#include <span>

#include "maskctl/base/threefry.h"
#include "maskctl/mask/plane.h"

namespace maskctl {

/// Query i sees key j where q[i] == k[j]. On the side that `closed_on` names, a token whose id is
/// closed_id neither sees nor is seen. O(n); documents need not be contiguous.
enum class Side : std::uint8_t { kNone, kQuery, kKey, kBoth };
PlanePtr equal_ids(std::span<const std::int32_t> q, std::span<const std::int32_t> k,
                   std::int32_t closed_id, Side closed_on);

/// Open where (k - q - phase) is a multiple of stride >= 1. Small planes store nothing and compute
/// their rows; very large ones store lists of keys.
PlanePtr dilated(Index queries, Index keys, Index stride, Index phase);

/// The matrix jax.random.bernoulli(key, p, shape)[first_cell : first_cell + queries * keys]: open
/// where uniform < p, with p rounded to float32 as in JAX. Nothing is stored; cells are computed
/// when they are read.
PlanePtr random_plane(Index queries, Index keys, ThreefryKey key, std::uint64_t first_cell,
                      float p);

/// key_flags: key k is open for all queries where flags[k] is nonzero. query_flags: query q sees
/// all keys where flags[q] is nonzero.
PlanePtr key_flags(Index queries, std::span<const std::uint8_t> flags);
PlanePtr query_flags(std::span<const std::uint8_t> flags, Index keys);
/// key_ranges: all queries see the keys in `open`. query_ranges: the queries in `open` see all
/// keys. The ranges may be in any order and are clipped to the plane.
PlanePtr key_ranges(Index queries, Index keys, std::span<const Range> open);
PlanePtr query_ranges(Index queries, Index keys, std::span<const Range> open);

/// Cell (q, k) is open where the block (q / q_size, k / k_size) of the row-major map is nonzero.
PlanePtr block_grid(Index queries, Index keys, Index q_size, Index k_size,
                    std::span<const std::uint8_t> map, Index map_columns);

}  // namespace maskctl
