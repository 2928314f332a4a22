// Random arrays, arrays with given values, and comparison of arrays.
#pragma once

#include <cmath>
#include <random>
#include <stdexcept>
#include <vector>

#include "maskctl/tensor/convert.h"
#include "maskctl/tensor/tensor.h"
#include "support/catch_compat.h"

namespace maskctl::test {

class RandomTensors {
 public:
  explicit RandomTensors(unsigned seed) : engine_(seed) {}
  /// Returns a random integer in [0, n).
  Index below(Index n) {
    return static_cast<Index>(engine_() % static_cast<std::uint64_t>(std::max<Index>(n, 1)));
  }
  bool chance(double p) { return std::uniform_real_distribution<>(0, 1)(engine_) < p; }
  Tensor normal(std::vector<Index> shape, DType dtype = DType::kFloat32) {
    return drawn(std::move(shape), std::normal_distribution<float>(), dtype);
  }
  Tensor uniform(std::vector<Index> shape, float low, float high) {
    return drawn(std::move(shape), std::uniform_real_distribution<float>(low, high),
                 DType::kFloat32);
  }
  /// Draws cumulative lengths of `count` sequences, some empty, on `tokens` tokens: int32 [count +
  /// 1], the first 0.
  Tensor cu_seqlens(Index count, Index tokens) {
    std::vector<std::int32_t> ends{0, static_cast<std::int32_t>(tokens)};
    for (Index n = 1; n < count; ++n) ends.push_back(static_cast<std::int32_t>(below(tokens + 1)));
    std::sort(ends.begin(), ends.end());
    Tensor out(DType::kInt32, {count + 1});
    std::copy(ends.begin(), ends.end(), out.as<std::int32_t>().begin());
    return out;
  }

 private:
  template <class Distribution>
  Tensor drawn(std::vector<Index> shape, Distribution distribution, DType dtype) {
    Tensor t(DType::kFloat32, std::move(shape));
    for (float& x : t.as<float>()) x = distribution(engine_);
    return astype(t, dtype);
  }
  std::mt19937_64 engine_;
};

/// Makes an array from values in row-major order. T is the type that Tensor::as needs for the
/// dtype.
template <class T>
Tensor tensor_of(DType dtype, std::vector<Index> shape, const std::vector<T>& values) {
  Tensor t(dtype, std::move(shape));
  if (t.elements() != static_cast<Index>(values.size())) throw std::logic_error("other shape");
  std::copy(values.begin(), values.end(), t.as<T>().begin());
  return t;
}
/// Returns a pointer to the first element of an f32 array.
inline const float* data(const Tensor& t) { return t.as<float>().data(); }
inline float* data(Tensor& t) { return t.as<float>().data(); }

inline Tensor f32(std::vector<Index> shape, const std::vector<float>& values) {
  return tensor_of(DType::kFloat32, std::move(shape), values);
}
inline Tensor i32(std::vector<Index> shape, const std::vector<std::int32_t>& values) {
  return tensor_of(DType::kInt32, std::move(shape), values);
}
inline Tensor i32(const std::vector<std::int32_t>& values) {
  return i32({static_cast<Index>(values.size())}, values);
}

/// Checks that shapes and dtypes are equal and that elements differ by at most tolerance * max(1,
/// the largest expected element).
inline void check_close(const Tensor& seen, const Tensor& expected, double tolerance,
                        const char* what) {
  INFO(what);
  REQUIRE(seen.shape() == expected.shape());
  REQUIRE(seen.dtype() == expected.dtype());
  const Tensor a = astype(seen, DType::kFloat64), b = astype(expected, DType::kFloat64);
  double size = 1;
  for (const double x : b.as<double>()) {
    if (std::isfinite(x)) size = std::max(size, std::abs(x));
  }
  for (std::size_t i = 0; i < a.as<double>().size(); ++i) {
    const double x = a.as<double>()[i], y = b.as<double>()[i];
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    if (!(std::abs(x - y) <= tolerance * size)) {
      FAIL(what << "[" << i << "] is " << x << ", expected " << y);
    }
  }
}

}  // namespace maskctl::test
