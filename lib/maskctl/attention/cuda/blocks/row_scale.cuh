// Powers of two by which rows are multiplied before they become float16, whose range is small.
#pragma once

#include "maskctl/attention/cuda/launch.cuh"

namespace maskctl::attention::cuda {

/// The scale of a row of floats. The row's greatest magnitude lies in [power(), 2 power()), and
/// becomes one in [2^14, 2^15) by to_half(). So each element of the scaled row is rounded to 11
/// bits or to a multiple of 2^-24.
class RowScale {
 public:
  /// `greatest`: the bits of the greatest magnitude.
  __device__ explicit RowScale(unsigned greatest)
      : exponent_(greatest >> 23 > kHalfExponent ? greatest >> 23 : kHalfExponent + 1) {}

  /// False if an element is infinite or NaN.
  __device__ bool is_finite() const { return exponent_ < 255; }
  __device__ float power() const { return __uint_as_float(exponent_ << 23); }
  __device__ float to_half() const {
    return __uint_as_float((kHalfExponent + 2 * kBias - exponent_) << 23);
  }

  /// The power of two that takes the product of two scaled rows to that of rows over their power().
  static constexpr float kOfProduct = 1.0f / (1 << 28);

 private:
  static constexpr unsigned kHalfExponent = 14, kBias = 127;
  unsigned exponent_;  // as in the bits of a float
};

/// The bits of |x|; those of greater magnitudes are greater, and those of NaN the greatest.
__device__ inline unsigned magnitude_bits(float x) { return __float_as_uint(x) & 0x7fffffff; }
/// The greatest of each group of `width` neighbouring lanes; every lane of a group gets it.
template <int width>
__device__ unsigned greatest_of_lanes(unsigned x) {
  for (int bit = width / 2; bit > 0; bit /= 2) {
    const unsigned other = __shfl_xor_sync(~0u, x, bit);
    x = x > other ? x : other;
  }
  return x;
}

}  // namespace maskctl::attention::cuda
