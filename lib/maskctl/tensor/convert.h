// Conversions of elements between dtypes, and between floats and their bits.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "maskctl/tensor/tensor.h"
#include "maskctl/tensor/tensor_view.h"

namespace maskctl {

// Conversions round to the nearest, ties to even; NaN stays NaN.
float float_from_half(std::uint16_t bits);
std::uint16_t half_from_float(float value);
float float_from_bfloat16(std::uint16_t bits);
std::uint16_t bfloat16_from_float(float value);

/// float_bits: the bits of the number nearest to `value` in a float dtype. number_from_bits: the
/// number that such bits mean.
std::uint64_t float_bits(DType dtype, double value);
double number_from_bits(DType dtype, std::uint64_t bits);

/// Converts like numpy's astype: for bool, nonzero becomes true (NaN too); floats become integers
/// by truncation; integers wrap around. A float that is too large for a narrower type becomes
/// infinite; in float8_e4m3fn, which has no infinities, NaN (as in ml_dtypes; PyTorch 2.15 makes it
/// 448).
Tensor astype(const Tensor& tensor, DType dtype);
/// astype() into existing memory: writes all elements of `from` to `to`, each rounded once. Both
/// arrays must be contiguous, on the host, of the same number of elements, and must not overlap.
void convert(const TensorView& from, const MutableTensorView& to);

/// For an array of floats, the narrowest of bf16, f16 and its own dtype that holds every element
/// exactly: 16-bit data is often saved as f32. For other arrays, their dtype.
DType precision_of(const Tensor& tensor);

/// The elements as int64, without loss. `what` names the array in messages. Throws
/// Error(kInvalidArgument) for an element that is not a whole number or does not fit.
std::vector<std::int64_t> as_int64(const Tensor& tensor, std::string_view what);
/// The elements as int32, such as segment ids and lengths; like as_int64() above.
std::vector<std::int32_t> as_int32(const Tensor& tensor, std::string_view what);
/// The elements as an int32 array of the same shape; like as_int64() above.
Tensor int32_array(const Tensor& tensor, std::string_view what);

/// The elements of as_int32(), without a copy if the array already holds int32. The array must
/// outlive this object.
class Int32Elements {
 public:
  Int32Elements(const Tensor& tensor, std::string_view what);
  Int32Elements(const Int32Elements&) = delete;
  Int32Elements& operator=(const Int32Elements&) = delete;

  std::span<const std::int32_t> values() const { return values_; }
  std::span<const std::int32_t> part(Range elements) const {
    return values_.subspan(static_cast<std::size_t>(elements.begin),
                           static_cast<std::size_t>(elements.size()));
  }
  std::int32_t operator[](Index i) const { return values_[static_cast<std::size_t>(i)]; }

 private:
  std::vector<std::int32_t> converted_;
  std::span<const std::int32_t> values_;
};

}  // namespace maskctl
