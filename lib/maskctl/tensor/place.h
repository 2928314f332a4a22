// Where a part of an array lies in the whole array.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "maskctl/base/index.h"

namespace maskctl {

/// For each axis, the ranges that a part covers, ascending and inside the extent; the part's
/// elements are in the order of the whole.
using ArrayPlace = std::vector<std::vector<Range>>;

/// The shape of the part.
std::vector<Index> shape_of(const ArrayPlace& place);

/// Calls f(offset in the whole, offset in the part, elements) for each contiguous stretch of a part
/// of an array of this shape; both offsets ascend.
void for_each_stretch(std::span<const Index> shape, const ArrayPlace& place,
                      const std::function<void(Index, Index, Index)>& f);

}  // namespace maskctl
