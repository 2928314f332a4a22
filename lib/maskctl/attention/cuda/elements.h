// Arrays of the GPU whose dtype a kernel learns when it runs: plain data.
#pragma once

#include "maskctl/base/error.h"
#include "maskctl/tensor/tensor_view.h"

namespace maskctl::attention::cuda {

/// float32, float16 or bfloat16; read by element() of launch.cuh.
struct AnyArray {
  const void* data = nullptr;
  DType dtype = DType::kFloat32;
};
/// An array of any float type that is written: each value is rounded once.
struct AnyResult {
  void* data = nullptr;
  DType dtype = DType::kFloat32;
};

/// Throws Error(kUnsupported) unless kernels read the dtype.
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
