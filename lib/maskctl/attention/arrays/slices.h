// Parts of arrays along one axis, out and in.
#pragma once

#include "maskctl/tensor/tensor.h"

namespace maskctl::attention {

/// x[..., range, ...] along `axis`; the range is inside the extent.
Tensor slice_of(const Tensor& x, Index axis, Range range);
/// whole[..., first : first + part.extent(axis), ...] = part. Equal dtypes.
void write_slice(const Tensor& part, Index axis, Index first, Tensor& whole);

}  // namespace maskctl::attention
