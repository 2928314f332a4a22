// Which elements of a whole array a part of it holds.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "maskctl/base/index.h"

namespace maskctl {

/// For each axis, the ranges that a part of an array covers: ascending, inside the extent. The part
/// has its elements in the same order as the whole array.
using ArrayPlace = std::vector<std::vector<Range>>;

/// The shape of the part of an array that `place` describes.
std::vector<Index> shape_of(const ArrayPlace& place);

/// Calls f(offset in the whole, offset in the part, number of elements) for each contiguous stretch
/// of a part. `shape` is that of the whole array; offsets are in elements, and both ascend.
void for_each_stretch(std::span<const Index> shape, const ArrayPlace& place,
                      const std::function<void(Index, Index, Index)>& f);

}  // namespace maskctl
