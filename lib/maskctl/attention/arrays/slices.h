// Parts of arrays, out and in, and sums of them.
#pragma once

#include <span>
#include <vector>

#include "maskctl/tensor/place.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::attention {

// Dtypes of a part and its whole are equal.

ArrayPlace place_of(std::span<const Range> part);  // one range for each axis

/// A copy of the elements of a part.
Tensor take(const Tensor& whole, const ArrayPlace& place);
Tensor take(const Tensor& whole, std::span<const Range> part);
/// Copies `part` into its place.
void put(const Tensor& part, const ArrayPlace& place, Tensor& whole);
void put(const Tensor& part, std::span<const Range> place, Tensor& whole);
/// Adds `part` to its place, both f32.
void add(const Tensor& part, const ArrayPlace& place, Tensor& whole);
void add(const Tensor& part, std::span<const Range> place, Tensor& whole);

/// The part that is a range, or some ranges, along one axis.
std::vector<Range> along(const Tensor& whole, Index axis, Range range);
ArrayPlace along(const Tensor& whole, Index axis, std::span<const Range> ranges);
/// x[..., range, ...] along `axis`.
Tensor slice_of(const Tensor& x, Index axis, Range range);
/// whole[..., first : first + part.extent(axis), ...] = part.
void write_slice(const Tensor& part, Index axis, Index first, Tensor& whole);

/// sum += part, in f32; a part of another float dtype is converted.
void add(const Tensor& part, Tensor& sum);

}  // namespace maskctl::attention
