// The tables of kernels in a build without CUDA, which are empty.
#include "maskctl/attention/cuda/kernels.h"

namespace maskctl::attention::cuda {

constexpr Kernels kKernels{};
constexpr InPlaceKernels kInPlaceKernels{};
std::shared_ptr<Workspace> make_workspace(Stream) { return nullptr; }

std::string unavailable() { return "this build has no CUDA kernels"; }
int gpus() { return 0; }
void use_gpu(int) {}
std::string tensor_cores() { return ""; }

}  // namespace maskctl::attention::cuda
