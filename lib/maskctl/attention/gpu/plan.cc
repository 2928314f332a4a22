// Checks what the host can see of a call on arrays of the GPU, and runs its kernel.
#include "maskctl/attention/gpu/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <type_traits>
#include <utility>

#include "maskctl/attention/cuda/arrays.h"
#include "maskctl/attention/cuda/kernels.h"
#include "maskctl/attention/gpu/check_arrays.h"
#include "maskctl/attention/gpu/check_calls.h"
#include "maskctl/attention/problems/context.h"
#include "maskctl/attention/softmax/checked.h"
#include "maskctl/base/error.h"

namespace maskctl::attention::gpu {
namespace {

void require_gpu() {
  std::string why = unavailable(Backend::kCuda);
  if (why.empty()) return;
  const bool is_built = std::get<0>(cuda::kInPlaceKernels).plan != nullptr;
  if (!is_built) why += "; configure it with -DMASKCTL_CUDA=ON";
  throw Error(Errc::kUnsupported, why);
}

/// Calls f(array) with each input array of a problem, also with optional ones that are absent.
template <class Problem, class F>
void each_input(const Problem& problem, F&& f) {
  if constexpr (std::is_base_of_v<PagedProblem, Problem>) {
    const PagedCache& cache = problem.cache;
    const std::array extents{cache.pages, cache.page_size, cache.heads, cache.dim};
    f(problem.queries), f(problem.sinks),
        f(TensorView(cache.keys, cache.dtype, extents, cache.place));
  } else {
    each_array(const_cast<Problem&>(problem), [&f](const auto& array) { f(array); });
  }
}
const TensorView* given(const TensorView& array) { return &array; }
const TensorView* given(const std::optional<TensorView>& array) {
  return array ? &*array : nullptr;
}

}  // namespace

Workspace::Workspace(Stream stream) {
  require_gpu();
  memory_ = cuda::make_workspace(stream);
}

template <class Problem, class... Arrays>
Plan<Problem, Arrays...>::Plan(const Problem& problem, Stream stream) {
  require_gpu();
  check(problem);
  each_input(problem, [this](const auto& input) {
    const TensorView* const array = given(input);
    if (!array) return inputs_.push_back({DType::kBool, {}});
    inputs_.push_back({array->dtype(), {array->shape().begin(), array->shape().end()}});
  });
  plan_ = std::get<cuda::InPlaceKernel<Problem, Arrays...>>(cuda::kInPlaceKernels)
              .plan(problem, stream);
}

template <class Problem, class... Arrays>
void Plan<Problem, Arrays...>::operator()(const Workspace& workspace, const Problem& problem,
                                          const Arrays&... arrays) const {
  auto planned = inputs_.begin();
  each_input(problem, [&planned](const auto& input) {
    const Array expected = *planned++;
    const TensorView* const array = given(input);
    if ((array ? array->dtype() : DType::kBool) != expected.dtype ||
        !std::ranges::equal(array ? array->shape() : std::span<const Index>(), expected.shape)) {
      refuse_shape(
          fmt::format("an array is {}, and the plan was made for {} {}; make another plan",
                      array ? fmt::format("{} {}", name(array->dtype()), shape_text(array->shape()))
                            : "missing",
                      name(expected.dtype), shape_text(expected.shape)));
    }
    if (!array || array->elements() == 0) return;
    if (array->place().space != MemorySpace::kDevice) refuse_place("an array");
    if (!std::is_same_v<Problem, SoftmaxProblem> && !array->is_contiguous()) {
      refuse("an array has gaps; give it in C order");
    }
  });
  check(problem, arrays...);
  std::get<cuda::InPlaceKernel<Problem, Arrays...>>(cuda::kInPlaceKernels)
      .run(*workspace.memory_, problem, plan_.get(), arrays...);
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
template class Plan<LinearProblem, LinearOutputs>;
template class Plan<LinearProblem, LinearBackwardInputs, LinearGradientOutputs>;
template class Plan<GroupedProblem, MutableTensorView>;
template class Plan<GroupedProblem, TensorView, GroupedGradientOutputs>;
template class Plan<PoolingProblem, MutableTensorView>;

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
