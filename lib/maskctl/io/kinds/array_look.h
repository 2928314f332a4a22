// Recognises what the elements of an array that is not a 0/1 mask look like, and says what to do
// with it.
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

/// The look of some consecutive elements of an array. `first` is the index of the first of them,
/// `row` the length of the array's rows. Weights are recognised only if `elements` contain a whole
/// row.
ArrayLook look_of(DType dtype, std::span<const std::byte> elements, Index first, Index row);

/// Says what the array is and what to do: "0 and 255 are the 0 and 1 of an image: save array != 0";
/// empty for kOther.
std::string_view words(ArrayLook look);

}  // namespace maskctl
