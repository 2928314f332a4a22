// All kernels for NVIDIA GPUs of sm_80 and newer; their sums are f32. Arrays on the host are copied
// to the GPU and back; arrays on the GPU are used in place.
#pragma once

#include <memory>
#include <string>
#include <tuple>

#include "maskctl/attention/problems/cache_update.h"
#include "maskctl/attention/problems/kernels.h"
#include "maskctl/attention/problems/paged_arrays.h"

struct CUstream_st;  // cudaStream_t is CUstream_st*

namespace maskctl::attention::cuda {

/// The kernels for arrays on the host.
extern const Kernels kKernels;

using Stream = CUstream_st*;
class Workspace;

/// A kernel for arrays on the GPU: `plan` is called once, then `run` for each call. Both are null
/// in a build without CUDA.
template <class Problem, class... Arrays>
struct InPlaceKernel {
  /// Prepares what `run` needs beside the arrays: the mask on the GPU, for example.
  std::shared_ptr<const void> (*plan)(const Problem&, Stream) = nullptr;
  void (*run)(Workspace&, const Problem&, const void* plan, const Arrays&...) = nullptr;
};
/// One InPlaceKernel for each operation; std::get finds it by its type.
using InPlaceKernels =
    std::tuple<InPlaceKernel<SoftmaxProblem, SoftmaxOutputs>,
               InPlaceKernel<SoftmaxProblem, SoftmaxBackwardInputs, SoftmaxGradientOutputs>,
               InPlaceKernel<SoftmaxProblem, MutableTensorView>,
               InPlaceKernel<PagedProblem, MutableTensorView>,
               InPlaceKernel<PagedArraysProblem, MutableTensorView>,
               InPlaceKernel<PagedProblem, NewTokens, CachePages>,
               InPlaceKernel<PagedArraysProblem, NewTokens, CachePages>,
               InPlaceKernel<BlockProblem, SoftmaxOutputs>,
               InPlaceKernel<BlockProblem, SoftmaxBackwardInputs, SoftmaxGradientOutputs>,
               InPlaceKernel<SelectionProblem, MutableTensorView>>;
extern const InPlaceKernels kInPlaceKernels;
/// Returns a workspace (GPU memory for temporary arrays) for calls in the stream; null in a build
/// without CUDA.
std::shared_ptr<Workspace> make_workspace(Stream stream);

/// Why kernels cannot run: the build has none, or the machine has no suitable GPU; empty when they
/// can.
std::string unavailable();

/// The number of GPUs that this process can use; 0 where no kernel can run.
int gpus();
/// Makes the calling thread use GPU n from now on. A thread starts with GPU 0.
void use_gpu(int n);

/// Which calls use tensor cores on this machine, or why none does, in words; empty where no kernel
/// can run at all.
std::string tensor_cores();

}  // namespace maskctl::attention::cuda
