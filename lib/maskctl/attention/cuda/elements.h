// Arrays on the GPU whose dtype a kernel learns only at run time: plain data.
#pragma once

#include "maskctl/base/error.h"
#include "maskctl/tensor/tensor_view.h"

namespace maskctl::attention::cuda {

/// An input array of float32, float16 or bfloat16; kernels read it with element() of launch.cuh.
struct AnyArray {
  const void* data = nullptr;
  DType dtype = DType::kFloat32;
};
/// An output array of float32, float16 or bfloat16; put() of launch.cuh rounds each value once.
struct AnyResult {
  void* data = nullptr;
  DType dtype = DType::kFloat32;
};

/// Returns the dtype. Throws Error(kUnsupported) if kernels cannot read it.
inline DType readable(DType dtype) {
  if (dtype == DType::kFloat32 || dtype == DType::kFloat16 || dtype == DType::kBFloat16) {
    return dtype;
  }
  throw Error(Errc::kUnsupported, "GPU kernels read float32, float16 and bfloat16");
}

inline AnyArray any_array(const TensorView& array) {
  return {array.data(), readable(array.dtype())};
}
inline AnyArray any_array(const std::optional<TensorView>& array) {
  return array ? any_array(*array) : AnyArray();
}
inline AnyResult any_result(const MutableTensorView& array) {
  return {array.data(), readable(array.dtype())};
}

}  // namespace maskctl::attention::cuda
