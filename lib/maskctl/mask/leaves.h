// Leaves with a rule of their own: equal ids, dilation, random cells.
#pragma once

#include <cstdint>
#include <span>

#include "maskctl/base/threefry.h"
#include "maskctl/mask/plane.h"

namespace maskctl {

/// Query i sees key j where q[i] == k[j]. Ids listed in `closed` see nothing and are not seen on
/// the side that `closed_on` names. O(n); ids may recur.
enum class Side : std::uint8_t { kNone, kQuery, kKey, kBoth };
PlanePtr equal_ids(std::span<const std::int32_t> q, std::span<const std::int32_t> k,
                   std::int32_t closed_id, Side closed_on);

/// Open where (k - q - phase) is a multiple of stride >= 1. Computed: stores nothing.
PlanePtr dilated(Index queries, Index keys, Index stride, Index phase);

/// The matrix jax.random.bernoulli(key, p, shape)[first_cell : first_cell + queries * keys]: open
/// where uniform < p, p rounded to float32 as in JAX. Computed: stores nothing, O(1) words per
/// cell.
PlanePtr random_plane(Index queries, Index keys, ThreefryKey key, std::uint64_t first_cell,
                      float p);

/// Keys selected by a flag per key (all rows equal); the next one: rows selected by a flag per row.
PlanePtr key_flags(Index queries, std::span<const std::uint8_t> flags);
PlanePtr query_flags(std::span<const std::uint8_t> flags, Index keys);
/// Keys, and rows, in the ranges, which come in any order; what lies outside of the plane is left
/// out.
PlanePtr key_ranges(Index queries, Index keys, std::span<const Range> open);
PlanePtr query_ranges(Index queries, Index keys, std::span<const Range> open);

/// Cell (q, k) open where block (q / q_size, k / k_size) of the row-major map is nonzero.
PlanePtr block_grid(Index queries, Index keys, Index q_size, Index k_size,
                    std::span<const std::uint8_t> map, Index map_columns);

}  // namespace maskctl
