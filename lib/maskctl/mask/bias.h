// Additive masks: floats that are added to the scores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "maskctl/base/index.h"
#include "maskctl/tensor/dtype.h"

namespace maskctl {

/// What a closed cell holds: minus infinity, or the least finite number of the dtype
/// (torch.finfo(dtype).min). An open cell holds 0.
enum class BiasFill : std::uint8_t { kInf, kMin };

/// Which of them occurred.
struct BiasSeen {
  bool inf = false;
  bool min = false;
};

/// Bit i of words = element i is 0 or -0; bits past the last are zero. words holds at least
/// ceil(n / 64). True when every element is 0, -inf or the least finite number. The dtype must be
/// floating.
bool pack_bias(DType dtype, std::span<const std::byte> elements, std::span<std::uint64_t> words,
               BiasSeen& seen);

/// The first element that is none of the three.
std::optional<Index> first_not_bias(DType dtype, std::span<const std::byte> elements);

/// Elements from as many bytes: 1 = open, 0 = closed.
void expand_bias(DType dtype, std::span<const std::uint8_t> bytes, std::span<std::byte> elements,
                 BiasFill fill);

/// The least finite number: -65504 for float16.
double least_finite(DType dtype);

}  // namespace maskctl
