// The tables of kernels without a mask in a build without CUDA, which are empty.
#include "maskctl/kernels/cuda/kernels.h"

namespace maskctl::attention::cuda {

constexpr MasklessKernels kMasklessKernels{};
constexpr MasklessInPlaceKernels kMasklessInPlaceKernels{};

}  // namespace maskctl::attention::cuda
