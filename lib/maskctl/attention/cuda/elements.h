// Arrays of the GPU whose dtype a kernel learns when it runs: plain data.
#pragma once

#include "maskctl/tensor/tensor_view.h"

namespace maskctl::attention::cuda {

/// float32, float16 or bfloat16; read by AnyElements of launch.cuh.
struct AnyArray {
  const void* data = nullptr;
  DType dtype = DType::kFloat32;
};
/// The same, written: a value is rounded once.
struct AnyResult {
  void* data = nullptr;
  DType dtype = DType::kFloat32;
};

inline AnyArray any_array(const TensorView& array) { return {array.data(), array.dtype()}; }
inline AnyArray any_array(const std::optional<TensorView>& array) {
  return array ? any_array(*array) : AnyArray();
}
inline AnyResult any_result(const MutableTensorView& array) {
  return {array.data(), array.dtype()};
}

}  // namespace maskctl::attention::cuda
