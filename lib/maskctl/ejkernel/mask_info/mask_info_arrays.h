// Array operations of MaskInfo and its functions with JAX's semantics; private to the layer.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "maskctl/ejkernel/mask_info/mask_info.h"

namespace maskctl {

/// shape[axis]; negative axes count from the end. Throws PythonError(IndexError).
Index extent_of(const std::vector<Index>& shape, Index axis);
/// Throws PythonError if the lengths are unknown. `what` is, for example, "apply causal mask".
void require_lengths(const MaskInfo& info, const char* what);
/// Throws PythonError(ValueError) for masks that `B, H, Q, K = mask.shape` cannot unpack.
void require_rank4(const MaskArray& mask);

/// Converts a Python int as jnp.int32 does. Throws PythonError(ValueError) when it does not fit.
std::int32_t int32_from(Index value);
/// jnp.asarray(values, int32), flat; a single number gives one element.
std::vector<std::int32_t> int32_values(const PerBatch& values);
/// int32_values() as one number per batch; a single number is repeated. Throws
/// PythonError(TypeError) for another count.
std::vector<Index> batch_values(const PerBatch& values, Index batch);
/// The array itself if it is int32, else its cast.
Array int32_array(const Array& array);
/// Ids of a padding mask: int32 0 where the flag is set, else -1.
Array ids_of_flags(const Tensor& flags);

/// The Mask [1,B,Q,K] of an array of rank 3, as [B,1,Q,K].
Mask heads_as_batches(const Mask& mask);

/// jnp.array_equal.
bool array_equal(const Tensor& a, const Tensor& b);
/// x[:, 0, :] for rank 3, else the array itself.
Array first_head(const Array& ids);
/// lax.dynamic_slice_in_dim for each batch (axis 0): `width` elements along `axis` >= 1 from
/// starts[b], which is clamped so that they fit. Throws PythonError for shapes that do not fit.
Tensor slice_batches(const Tensor& x, Index axis, std::span<const Index> starts, Index width);
/// x[..., range, ...] along `axis`, with the range cut at the ends as in Python.
Tensor slice_axis(const Tensor& x, Index axis, Range range);
/// slice_batches() of a mask: q_width x k_width cells of batch b starting at (q_starts[b],
/// k_starts[b]).
Mask slice_batches(const Mask& mask, std::span<const Index> q_starts, Index q_width,
                   std::span<const Index> k_starts, Index k_width);

/// [n,1,Q,K] with n = values.size(): one plane per value, made once for each distinct value.
Mask planes_of_values(std::span<const std::int32_t> values, Index queries, Index keys,
                      const std::function<PlanePtr(Index value)>& make);
/// Opens keys q + low <= k <= q + high of query q, where both sums wrap around like int32; without
/// `low`, from key 0 on.
PlanePtr int32_band(Index queries, Index keys, std::optional<Index> low, Index high);

}  // namespace maskctl
