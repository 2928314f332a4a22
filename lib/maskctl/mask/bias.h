// Additive masks: floats that are added to the scores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "maskctl/base/index.h"
#include "maskctl/tensor/dtype.h"

namespace maskctl {

/// What a closed cell holds when we write: minus infinity, or the least finite number of the dtype
/// (torch.finfo(dtype).min). An open cell holds 0.
enum class BiasFill : std::uint8_t { kInf, kMin };

/// Half of the least finite float16: what is added at or below it leaves nothing of a score in any
/// type, so whatever stack wrote it meant "closed".
inline constexpr double kAlwaysCloses = -32752;

/// Which elements close a cell and which leave it open.
struct BiasRule {
  DType dtype = DType::kFloat32;
  /// Elements at or below this number are closed and all other finite ones open. Without it 0 is
  /// open; -inf, anything at or below kAlwaysCloses, and -1e4 are closed; the rest is neither.
  std::optional<double> closed_below = {};
};

/// What closes cells: -inf, finite numbers, of these the nearest to 0 and the farthest from it.
struct BiasSeen {
  bool inf = false;
  bool min = false;
  double nearest = 0;
  double farthest = 0;

  void add(const BiasSeen& other);
  /// -1e4 closes only where nothing else does: beside larger numbers it is a penalty.
  bool is_mixed() const { return min && nearest > kAlwaysCloses && (inf || nearest != farthest); }
};

/// Bit i of words = element i is open (-0 too); bits past the last are zero. words holds at least
/// ceil(n / 64). True when every element is open or closed. The dtype must be floating.
bool pack_bias(const BiasRule& rule, std::span<const std::byte> elements,
               std::span<std::uint64_t> words, BiasSeen& seen);

/// The first element that is neither open nor closed.
std::optional<Index> first_not_bias(const BiasRule& rule, std::span<const std::byte> elements);

/// "-inf", "-3.38953139e+38 (the minimum of bfloat16)", "-2e+09 to -1e+09": a number is named when
/// a common stack writes it, also rounded to the dtype or through bfloat16 on its way there.
std::string closed_by(const BiasSeen& seen, DType dtype);

/// Elements from as many bytes: 1 = open, 0 = closed.
void expand_bias(DType dtype, std::span<const std::uint8_t> bytes, std::span<std::byte> elements,
                 BiasFill fill);

/// The least finite number: -65504 for float16.
double least_finite(DType dtype);

}  // namespace maskctl
