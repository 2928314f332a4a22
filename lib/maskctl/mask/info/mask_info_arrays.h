// Array operations of MaskInfo and its functions, as JAX does them; private to the mask layer.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "maskctl/mask/info/mask_info.h"

namespace maskctl {

/// shape[axis]; negative axes count from the end. Throws PythonError(IndexError).
Index extent_of(const std::vector<Index>& shape, Index axis);
/// Refuses an object whose lengths are unknown. `what`: "apply causal mask".
void require_lengths(const MaskInfo& info, const char* what);
/// Refuses masks that `B, H, Q, K = mask.shape` cannot unpack. Throws PythonError(ValueError).
void require_rank4(const MaskArray& mask);

/// A Python int as jnp.int32 takes it. Throws PythonError(ValueError) when it does not fit.
std::int32_t int32_from(Index value);
/// jnp.asarray(values, int32), flat. One number where PerBatch holds one.
std::vector<std::int32_t> int32_values(const PerBatch& values);
/// As above, one for each batch: a number is repeated. Throws PythonError(TypeError) for another
/// count.
std::vector<Index> batch_values(const PerBatch& values, Index batch);
/// The array itself when it is int32, else its cast.
Array int32_array(const Array& array);
/// int32 0 where the flag is set, else -1: ids of a padding mask.
Array ids_of_flags(const Tensor& flags);

/// The Mask [1,B,Q,K] of an array of rank 3 as [B,1,Q,K].
Mask heads_as_batches(const Mask& mask);

/// jnp.array_equal.
bool array_equal(const Tensor& a, const Tensor& b);
/// x[:, 0, :] of rank 3, else the array itself.
Array first_head(const Array& ids);
/// lax.dynamic_slice_in_dim of each batch (axis 0): `width` elements along `axis` >= 1 from
/// starts[b], which is moved so that they fit. Throws PythonError for shapes that do not fit.
Tensor slice_batches(const Tensor& x, Index axis, std::span<const Index> starts, Index width);
/// x[..., range, ...] along `axis`, cut off at the ends as Python slices are.
Tensor slice_axis(const Tensor& x, Index axis, Range range);
/// The same for a mask: q_width x k_width cells of batch b from (q_starts[b], k_starts[b]).
Mask slice_batches(const Mask& mask, std::span<const Index> q_starts, Index q_width,
                   std::span<const Index> k_starts, Index k_width);

/// [n,1,Q,K], n = values.size(): one plane for each value, made once for each distinct one.
Mask planes_of_values(std::span<const std::int32_t> values, Index queries, Index keys,
                      const std::function<PlanePtr(Index value)>& make);
/// Keys q + low <= k <= q + high of query q, where both sums wrap around as int32 does; from key 0
/// without `low`.
PlanePtr int32_band(Index queries, Index keys, std::optional<Index> low, Index high);

}  // namespace maskctl
