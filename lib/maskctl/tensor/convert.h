// Element conversions between dtypes, and of floats to their bits.
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

/// The bits of the number nearest to `value` in a float dtype, and the number that bits stand for.
std::uint64_t float_bits(DType dtype, double value);
double number_from_bits(DType dtype, std::uint64_t bits);

/// Numpy's astype: to bool nonzero is true (NaN too); floats to integers truncate; integers wrap.
/// Floats too large for a narrower type become infinite, and NaN in float8_e4m3fn, which has no
/// infinities (as ml_dtypes; PyTorch 2.15 makes 448 of them).
Tensor astype(const Tensor& tensor, DType dtype);
/// astype() into existing memory: all elements of `from`, each rounded once to the dtype of `to`.
/// Both arrays are contiguous, on the host, of the same number of elements, and do not overlap.
void convert(const TensorView& from, const MutableTensorView& to);

/// For an array of floats, the narrowest of bf16, f16 and its own dtype that holds every element
/// exactly: 16-bit arrays are often saved as f32. For other arrays, their dtype.
DType precision_of(const Tensor& tensor);

/// Every element as int64, exactly. `what` names the array in the message. Throws
/// Error(kInvalidArgument) for an element that is not a whole number or does not fit.
std::vector<std::int64_t> as_int64(const Tensor& tensor, std::string_view what);
/// as_int64() as int32, for segment ids and lengths.
std::vector<std::int32_t> as_int32(const Tensor& tensor, std::string_view what);
/// as_int32() in an array of the same shape.
Tensor int32_array(const Tensor& tensor, std::string_view what);

/// as_int32() without a copy where the array holds int32; the array must outlive it.
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
