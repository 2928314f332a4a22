// Additive masks (biases): floats that are added to the attention scores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "maskctl/base/index.h"
#include "maskctl/tensor/dtype.h"

namespace maskctl {

/// What is written into closed cells: minus infinity, or the lowest finite number of the dtype
/// (torch.finfo(dtype).min), which dtypes without infinity always get. Open cells get 0.
enum class BiasFill : std::uint8_t { kInf, kMin };

/// Half of the lowest finite float16. A bias at or below it erases a score in every dtype, so
/// whichever library wrote it meant "closed".
inline constexpr double kAlwaysCloses = -32752;

/// Decides which elements of a bias close a cell and which leave it open.
struct BiasRule {
  DType dtype = DType::kFloat32;
  /// If set: elements at or below this number are closed, all other finite ones open. If not set: 0
  /// is open; -inf, -1e4 and everything at or below kAlwaysCloses are closed; any other value is an
  /// error.
  std::optional<double> closed_below = {};
};

/// Which values closed cells in an array: whether -inf occurred (`inf`), whether finite numbers did
/// (`min`), and the finite ones nearest to 0 and farthest from it.
struct BiasSeen {
  bool inf = false;
  bool min = false;
  double nearest = 0;
  double farthest = 0;

  void add(const BiasSeen& other);
  /// True when -1e4 occurs together with lower numbers or -inf: then -1e4 is a penalty rather than
  /// a closed cell.
  bool is_mixed() const { return min && nearest > kAlwaysCloses && (inf || nearest != farthest); }
};

/// Sets bit i of `words` when element i is open (-0 is open too); bits after the last element are
/// zero. `words` must hold at least ceil(n / 64). Returns true when every element is either open or
/// closed. The dtype must be floating point.
bool pack_bias(const BiasRule& rule, std::span<const std::byte> elements,
               std::span<std::uint64_t> words, BiasSeen& seen);

/// The index of the first element that is neither open nor closed.
std::optional<Index> first_not_bias(const BiasRule& rule, std::span<const std::byte> elements);

/// The values that closed cells, in words: "-inf", "-3.38953139e+38 (the minimum of bfloat16)",
/// "-2e+09 to -1e+09". A number that a common library writes is named, also after rounding to
/// `dtype` or to bfloat16.
std::string closed_by(const BiasSeen& seen, DType dtype);

/// The reverse of pack_bias: writes one element of a bias for each byte, which is 1 (open) or 0
/// (closed).
void expand_bias(DType dtype, std::span<const std::uint8_t> bytes, std::span<std::byte> elements,
                 BiasFill fill);

}  // namespace maskctl
