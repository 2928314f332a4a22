// Finds out what an array holds if it is not a mask of 0 and 1, such as an image, labels or
// attention weights, and says what to do with such an array.
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
  kImage,    // 0 and 255 only: a mask stored as an image
  kLabels,   // whole numbers >= 0, and -100, which losses ignore
  kWeights,  // floats from 0 to 1; each row sums to 1, or to 0 if it has no keys
};

/// Finds out what an array holds from some consecutive elements. `first` is the index of the first
/// of these elements, `row` the length of the array's rows. Attention weights are recognised only
/// if `elements` contain a whole row.
ArrayLook look_of(DType dtype, std::span<const std::byte> elements, Index first, Index row);

/// Says what an array that looks like this is, and what to do: "0 and 255 are the 0 and 1 of an
/// image: save array != 0". Empty for kOther.
std::string_view words(ArrayLook look);

}  // namespace maskctl
