// Conversion to and from float64, for the reference kernels.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "maskctl/tensor/convert.h"
#include "maskctl/tensor/tensor_view.h"

namespace maskctl::attention {

/// The elements as doubles; empty if there is no array.
inline std::vector<double> to_double(const std::optional<TensorView>& array) {
  if (!array) return {};
  std::vector<double> out(as_size(array->elements()));
  convert(*array, {reinterpret_cast<std::byte*>(out.data()), DType::kFloat64, array->shape()});
  return out;
}

inline double dot(const double* a, const double* b, Index n) {
  double sum = 0;
  for (Index i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

/// Writes the values to an array of the same size; each is rounded once to its dtype.
inline void store(std::span<const double> values, const MutableTensorView& to) {
  const TensorView from(std::as_bytes(values).data(), DType::kFloat64,
                        std::array{std::ssize(values)});
  convert(from, to);
}

/// A new array of the given values, each rounded once to its dtype.
inline Tensor tensor_of(const std::vector<double>& values, DType dtype, std::vector<Index> shape) {
  Tensor out = Tensor::unwritten(dtype, std::move(shape));
  store(values, out);
  return out;
}
inline Tensor tensor_of(const std::vector<double>& values, const Tensor& like) {
  return tensor_of(values, like.dtype(), like.shape());
}

}  // namespace maskctl::attention
