// Allocates and views arrays for the results of kernels.
#pragma once

#include <optional>

#include "maskctl/tensor/tensor_view.h"

namespace maskctl::attention {

/// An uninitialized array with the shape and dtype of `array`.
inline Tensor unwritten_like(const TensorView& array) {
  return Tensor::unwritten(array.dtype(), {array.shape().begin(), array.shape().end()});
}
inline std::optional<Tensor> unwritten_like(const std::optional<TensorView>& array) {
  return array ? std::optional(unwritten_like(*array)) : std::nullopt;
}

inline MutableTensorView view_of(Tensor& array) { return array; }
/// A view of the array; nullopt if there is no array.
inline std::optional<MutableTensorView> view_of(std::optional<Tensor>& array) {
  return array ? std::optional<MutableTensorView>(*array) : std::nullopt;
}

}  // namespace maskctl::attention
