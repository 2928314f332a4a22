// Arrays as float64, for the references.
#pragma once

#include <algorithm>
#include <vector>

#include "maskctl/tensor/convert.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::attention {

/// The elements of an array; empty when it is absent.
inline std::vector<double> doubles(const Tensor* tensor) {
  if (!tensor) return {};
  const Tensor wide = astype(*tensor, DType::kFloat64);
  const auto values = wide.as<double>();
  return {values.begin(), values.end()};
}

inline double dot(const double* a, const double* b, Index n) {
  double sum = 0;
  for (Index i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

/// Values in the given form, rounded once.
inline Tensor tensor_of(const std::vector<double>& values, DType dtype, std::vector<Index> shape) {
  Tensor wide(DType::kFloat64, std::move(shape));
  std::copy(values.begin(), values.end(), wide.as<double>().begin());
  return astype(wide, dtype);
}
inline Tensor tensor_of(const std::vector<double>& values, const Tensor& like) {
  return tensor_of(values, like.dtype(), like.shape());
}

}  // namespace maskctl::attention
