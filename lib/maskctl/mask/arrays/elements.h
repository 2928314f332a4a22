// Converts array elements of any dtype to open and closed cells, and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>

#include "maskctl/base/index.h"
#include "maskctl/tensor/dtype.h"

namespace maskctl {

/// Element i of an array of U, whose memory need not be aligned.
template <typename U>
U load(std::span<const std::byte> elements, std::size_t i) {
  U value;
  std::memcpy(&value, elements.data() + i * sizeof(U), sizeof(U));
  return value;
}

/// Sets bit i of `words` when element i is not zero (NaN is not zero, -0 is); bits after the last
/// element are zero. `words` must hold at least ceil(n / 64). Elements are in native byte order.
/// Returns true when every element is exactly 0 or 1; a bool counts as its byte.
bool pack_elements(DType dtype, std::span<const std::byte> elements,
                   std::span<std::uint64_t> words);

/// The index of the first element that is neither 0 nor 1.
std::optional<Index> first_not_binary(DType dtype, std::span<const std::byte> elements);
/// How many elements are neither 0 nor 1.
Index count_not_binary(DType dtype, std::span<const std::byte> elements);

/// The value of the first element that is not 0 (NaN counts).
std::optional<double> first_nonzero(DType dtype, std::span<const std::byte> elements);

/// Writes element i as 0 or 1 of the dtype, as bytes[i] says.
void expand_elements(DType dtype, std::span<const std::uint8_t> bytes,
                     std::span<std::byte> elements);

/// Element i as text: "3", "-inf", "0.5".
std::string element_text(DType dtype, std::span<const std::byte> elements, Index i);

}  // namespace maskctl
