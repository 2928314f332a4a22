// Reads, writes and adds parts of arrays: ranges along each axis.
#pragma once

#include <span>
#include <vector>

#include "maskctl/tensor/place.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::attention {

// In the functions below, a part of an array has the dtype of the whole array, except where add()
// says otherwise.

ArrayPlace place_of(std::span<const Range> part);  // one range for each axis

/// A copy of a part of `whole`. `place` has a list of ranges for each axis, `part` has one range
/// for each axis.
Tensor take(const Tensor& whole, const ArrayPlace& place);
Tensor take(const Tensor& whole, std::span<const Range> part);
/// Copies `part` to the given place of `whole`.
void put(const Tensor& part, const ArrayPlace& place, Tensor& whole);
void put(const Tensor& part, std::span<const Range> place, Tensor& whole);
/// Adds `part` to the elements of `whole` at the given place; both arrays are f32.
void add(const Tensor& part, const ArrayPlace& place, Tensor& whole);
void add(const Tensor& part, std::span<const Range> place, Tensor& whole);

/// Returns the place of a part of `whole`: the given range (or ranges) on axis number `axis`, and
/// all positions on the other axes.
std::vector<Range> along(const Tensor& whole, Index axis, Range range);
ArrayPlace along(const Tensor& whole, Index axis, std::span<const Range> ranges);
/// Returns x[..., range, ...], with the range on axis number `axis`.
Tensor slice_of(const Tensor& x, Index axis, Range range);
/// Sets whole[..., first : first + part.extent(axis), ...] = part on axis number `axis`.
void write_slice(const Tensor& part, Index axis, Index first, Tensor& whole);

/// sum += part, in f32; a part of another float dtype is converted first.
void add(const Tensor& part, Tensor& sum);

}  // namespace maskctl::attention
