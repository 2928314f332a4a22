// What the elements of an array that is no 0/1 mask look like, with words that say what to do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "maskctl/base/index.h"
#include "maskctl/tensor/dtype.h"

namespace maskctl {

enum class ArrayLook : std::uint8_t {
  kOther,
  kImage,    // 0 and 255 only: a mask as images have it
  kLabels,   // whole numbers from 0 on and -100, which losses ignore
  kWeights,  // floats from 0 to 1, each row of which sums to 1 (or to 0, without keys)
};

/// The look of consecutive elements; `first` is the index of the first one in the array, whose rows
/// have `row` elements. Weights are only seen where a whole row is among the elements.
ArrayLook look_of(DType dtype, std::span<const std::byte> elements, Index first, Index row);

/// "0 and 255 are the 0 and 1 of images: save array != 0"; empty for kOther.
std::string_view words(ArrayLook look);

}  // namespace maskctl
