// How plans are made and called; private to the files that instantiate Plan.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <tuple>
#include <type_traits>

#include "maskctl/attention/cuda/arrays.h"
#include "maskctl/attention/cuda/kernels.h"
#include "maskctl/attention/gpu/check_arrays.h"
#include "maskctl/attention/gpu/check_calls.h"
#include "maskctl/attention/gpu/plan.h"
#include "maskctl/base/error.h"

namespace maskctl::attention::gpu {

/// Throws Error(kUnsupported) where no kernel can run.
void require_gpu();
/// Throws Error(kShape) for an array for which the plan was not made; null: it is missing.
[[noreturn]] void refuse_another_array(const TensorView* array, DType dtype,
                                       std::span<const Index> shape);

/// The checks of a problem, and the table that has its kernels. A layer above specialises it for
/// problems of its own.
template <class Problem>
struct CallsOf {
  template <class... Arrays>
  static void check_call(const Problem& problem, const Arrays&... arrays) {
    check(problem, arrays...);
  }
  static const cuda::InPlaceKernels& kernels() { return cuda::kInPlaceKernels; }
};

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
inline const TensorView* given(const TensorView& array) { return &array; }
inline const TensorView* given(const std::optional<TensorView>& array) {
  return array ? &*array : nullptr;
}

template <class Problem, class... Arrays>
Plan<Problem, Arrays...>::Plan(const Problem& problem, Stream stream) {
  require_gpu();
  CallsOf<Problem>::check_call(problem);
  each_input(problem, [this](const auto& input) {
    const TensorView* const array = given(input);
    if (!array) return inputs_.push_back({DType::kBool, {}});
    inputs_.push_back({array->dtype(), {array->shape().begin(), array->shape().end()}});
  });
  plan_ = std::get<cuda::InPlaceKernel<Problem, Arrays...>>(CallsOf<Problem>::kernels())
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
      refuse_another_array(array, expected.dtype, expected.shape);
    }
    if (!array || array->elements() == 0) return;
    if (array->place().space != MemorySpace::kDevice) refuse_place("an array");
    if (!std::is_same_v<Problem, SoftmaxProblem> && !array->is_contiguous()) {
      refuse("an array has gaps; give it in C order");
    }
  });
  CallsOf<Problem>::check_call(problem, arrays...);
  std::get<cuda::InPlaceKernel<Problem, Arrays...>>(CallsOf<Problem>::kernels())
      .run(*workspace.memory_, problem, plan_.get(), arrays...);
}

}  // namespace maskctl::attention::gpu
