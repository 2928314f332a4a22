// Arrays of heads on the GPU as kernels read them: plain data.
#pragma once

#include "maskctl/attention/cuda/elements.h"

namespace maskctl::attention::cuda {

/// An array [B,T,H,D]. Strides are in elements; along D the stride is 1.
struct HeadsView {
  const void* data = nullptr;
  DType dtype = DType::kFloat32;
  Index batch_stride = 0, token_stride = 0, head_stride = 0;
};

/// The array as a HeadsView. Throws Error(kUnsupported) if it is not contiguous along its last
/// axis.
inline HeadsView heads_view(const TensorView& array) {
  if (array.elements() > 0 && array.extent(3) > 1 && array.stride(3) != 1) {
    throw Error(Errc::kUnsupported, "GPU kernels need arrays without gaps along their last axis");
  }
  return {array.data(), readable(array.dtype()), array.stride(0), array.stride(1), array.stride(2)};
}

}  // namespace maskctl::attention::cuda
