// Powers of two by which rows of floats are multiplied before they are rounded to float16, whose
// range of exponents is small.
#pragma once

#include "maskctl/attention/cuda/launch.cuh"

namespace maskctl::attention::cuda {

/// The power of two that scales a row of floats before it is rounded to float16. The greatest
/// magnitude of the row lies in [power(), 2 power()), or below power() if it is less than 2^-112;
/// times to_half(), it is less than 2^15. Rounding an element of the scaled row then keeps 11
/// significant bits or, if the element is tiny, rounds it to a multiple of 2^-24.
class RowScale {
 public:
  /// `greatest`: the largest magnitude_bits() of an element of the row.
  __device__ explicit RowScale(unsigned greatest)
      : exponent_(greatest >> 23 > kHalfExponent ? greatest >> 23 : kHalfExponent + 1) {}

  /// Whether all elements of the row are finite.
  __device__ bool is_finite() const { return exponent_ < 255; }
  __device__ float power() const { return __uint_as_float(exponent_ << 23); }
  __device__ float to_half() const {
    return __uint_as_float((kHalfExponent + 2 * kBias - exponent_) << 23);
  }

  /// The dot product of two scaled rows, times kOfProduct and the power() of both rows, is the dot
  /// product of the rows themselves.
  static constexpr float kOfProduct = 1.0f / (1 << 28);

 private:
  static constexpr unsigned kHalfExponent = 14, kBias = 127;
  unsigned exponent_;  // exponent of power(), biased as in the bits of a float
};

/// Returns the bits of |x| as an integer. A greater magnitude gives a greater integer, and NaN
/// gives the greatest.
__device__ inline unsigned magnitude_bits(float x) { return __float_as_uint(x) & 0x7fffffff; }
/// Returns the greatest x of each group of `width` neighbouring lanes, in every lane of the group.
template <int width>
__device__ unsigned greatest_of_lanes(unsigned x) {
  for (int bit = width / 2; bit > 0; bit /= 2) {
    const unsigned other = __shfl_xor_sync(~0u, x, bit);
    x = x > other ? x : other;
  }
  return x;
}

}  // namespace maskctl::attention::cuda
