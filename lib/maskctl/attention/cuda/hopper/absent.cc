// What stands for the kernels of Hopper GPUs where the CPU emulates a GPU.
#include "maskctl/attention/cuda/hopper/backward.h"
#include "maskctl/attention/cuda/hopper/forward.h"

namespace maskctl::attention::cuda::hopper {

std::string unavailable() { return "the GPU is emulated"; }
std::string unsupported_forward(const SoftmaxParams&) { return "the GPU is emulated"; }
Schedule forward_schedule(const MaskView&, const Dims&, DType, Stream) { return {}; }
void forward(Workspace&, const SoftmaxParams&, const Schedule&, const float*, AnyResult, float*) {
  throw Error(Errc::kUnsupported, "the GPU is emulated");
}

std::string unsupported_backward(const BackwardParams&) { return "the GPU is emulated"; }
KeyOrder::KeyOrder(const MaskView&, const Dims&, bool, Stream) {}
void backward(Workspace&, const BackwardParams&, const KeyOrder&, bool, float*, const float*, void*,
              void*, void*) {
  throw Error(Errc::kUnsupported, "the GPU is emulated");
}

}  // namespace maskctl::attention::cuda::hopper
