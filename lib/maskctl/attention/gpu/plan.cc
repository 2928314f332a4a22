// Checks what the host can see of a call on arrays of the GPU, and runs its kernel.
#include "maskctl/attention/gpu/plan.h"

#include <fmt/format.h>

#include <utility>

#include "maskctl/attention/cuda/kernels.h"
#include "maskctl/attention/gpu/check_arrays.h"
#include "maskctl/attention/gpu/plan_calls.h"
#include "maskctl/attention/problems/context.h"
#include "maskctl/attention/softmax/checked.h"
#include "maskctl/base/error.h"

namespace maskctl::attention::gpu {

void require_gpu() {
  std::string why = unavailable(Backend::kCuda);
  if (why.empty()) return;
  const bool is_built = std::get<0>(cuda::kInPlaceKernels).plan != nullptr;
  if (!is_built) why += "; configure it with -DMASKCTL_CUDA=ON";
  throw Error(Errc::kUnsupported, why);
}

void refuse_another_array(const TensorView* array, DType dtype, std::span<const Index> shape) {
  refuse_shape(fmt::format(
      "an array is {}, and the plan was made for {} {}; make another plan",
      array ? fmt::format("{} {}", name(array->dtype()), shape_text(array->shape())) : "missing",
      name(dtype), shape_text(shape)));
}

Workspace::Workspace(Stream stream) {
  require_gpu();
  memory_ = cuda::make_workspace(stream);
}

template class Plan<SoftmaxProblem, SoftmaxOutputs>;
template class Plan<SoftmaxProblem, SoftmaxBackwardInputs, SoftmaxGradientOutputs>;
template class Plan<SoftmaxProblem, MutableTensorView>;
template class Plan<PagedProblem, MutableTensorView>;
template class Plan<PagedArraysProblem, MutableTensorView>;
template class Plan<PagedProblem, NewTokens, CachePages>;
template class Plan<PagedArraysProblem, NewTokens, CachePages>;
template class Plan<BlockProblem, SoftmaxOutputs>;
template class Plan<BlockProblem, SoftmaxBackwardInputs, SoftmaxGradientOutputs>;
template class Plan<SelectionProblem, MutableTensorView>;

SoftmaxProblem softmax_problem(const TensorView& query, const TensorView& key,
                               const TensorView& value, Mask mask, const SoftmaxOptions& options) {
  SoftmaxProblem problem;
  problem.d = dims_of(query, key, value);
  check_options(options);
  problem.query = query, problem.key = key, problem.value = value;
  problem.mask = std::move(mask);
  problem.scale = options.scale.value_or(default_scale(problem.d.dim));
  problem.options = options;
  return problem;
}

}  // namespace maskctl::attention::gpu
