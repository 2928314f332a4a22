// Array operations of MaskInfo with JAX's semantics. Used only inside ejkernel/.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "maskctl/ejkernel/mask_info/mask_info.h"

namespace maskctl {

/// shape[axis]; negative axes count from the end. Throws PythonError(IndexError) if there is no
/// such axis.
Index extent_of(const std::vector<Index>& shape, Index axis);
/// Throws PythonError if q_len or kv_len is unknown. `what` is part of the message: "apply causal
/// mask".
void require_lengths(const MaskInfo& info, const char* what);
/// Throws PythonError(ValueError) if `B, H, Q, K = mask.shape` would fail.
void require_rank4(const MaskArray& mask);

/// Converts a Python int as jnp.int32 does. Throws PythonError(ValueError) if it does not fit.
std::int32_t int32_from(Index value);
/// The elements of jnp.asarray(values, int32); a single number gives one element.
std::vector<std::int32_t> int32_values(const PerBatch& values);
/// int32_values(), one per batch row; a single number is repeated. Throws PythonError(TypeError)
/// for any other count.
std::vector<Index> batch_values(const PerBatch& values, Index batch);
/// The array itself if it is int32, else converted to int32.
Array int32_array(const Array& array);
/// The segment ids of a padding mask, int32: 0 where the flag is set, else -1.
Array ids_of_flags(const Tensor& flags);

/// Moves the heads of a mask to its batch axis: [1,B,Q,K], the Mask of an array [B,Q,K], becomes
/// [B,1,Q,K].
Mask heads_as_batches(const Mask& mask);

/// As jnp.array_equal().
bool array_equal(const Tensor& a, const Tensor& b);
/// x[:, 0, :] if the rank is 3, else the array itself.
Array first_head(const Array& ids);
/// lax.dynamic_slice_in_dim for each batch row b (axis 0): `width` elements along `axis` >= 1, from
/// starts[b] on. Starts are clamped so that the slice fits. Throws PythonError for shapes that do
/// not fit.
Tensor slice_batches(const Tensor& x, Index axis, std::span<const Index> starts, Index width);
/// x[..., range, ...] along `axis`; as in Python, the range is clamped to the axis.
Tensor slice_axis(const Tensor& x, Index axis, Range range);
/// slice_batches() for a mask: q_width x k_width cells of batch row b, from (q_starts[b],
/// k_starts[b]) on.
Mask slice_batches(const Mask& mask, std::span<const Index> q_starts, Index q_width,
                   std::span<const Index> k_starts, Index k_width);

/// [n,1,Q,K] with n = values.size(): batch row b has the plane make(values[b]). make() is called
/// once per distinct value.
Mask planes_of_values(std::span<const std::int32_t> values, Index queries, Index keys,
                      const std::function<PlanePtr(Index value)>& make);
/// Returns a plane in which query q sees the keys q + low <= k <= q + high. Both sums wrap around
/// like int32. Without `low`, the keys begin at 0.
PlanePtr int32_band(Index queries, Index keys, std::optional<Index> low, Index high);

}  // namespace maskctl
