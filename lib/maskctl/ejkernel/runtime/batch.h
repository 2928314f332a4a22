// ejkernel's vmap_with_config and pmap_with_config: a call for each element of a batch of calls,
// with the config of the first.
#pragma once

#include <optional>
#include <vector>

#include "maskctl/ejkernel/runtime/executor.h"

namespace maskctl::attention {

/// The axis of each array along which its elements lie: one for all, or one for each in the order
/// of in_specs, nullopt (and arrays past the end) for arrays that all elements share.
struct InAxes {
  InAxes(Index all = 0) : of_all_(all) {}            // NOLINT: reads as ejkernel's in_axes=0
  InAxes(std::vector<std::optional<Index>> of_each)  // NOLINT: and as its tuple
      : each_(std::move(of_each)) {}

  std::optional<Index> of(std::size_t number) const {
    if (of_all_) return of_all_;
    return number < each_.size() ? each_[number] : std::nullopt;
  }

 private:
  std::optional<Index> of_all_;
  std::vector<std::optional<Index>> each_;
};

/// Element i of an array, without that axis.
Tensor element_of(const Tensor& whole, Index axis, Index i);

/// The calls of all elements, one after another or up to 16 at a time, each on a thread of its own.
/// Masks and MaskInfo are shared; arrays that the operation updates are updated in every element.
/// Both throw Error(kShape) for an axis that an array does not have and for arrays that differ in
/// their number of elements, Error(kInvalidArgument) when no array has elements, and what the call
/// throws.
class ElementCalls {
 public:
  ElementCalls(Executor executor, const Operation& operation, InAxes axes, bool at_once)
      : executor_(std::move(executor)),
        operation_(&operation),
        axes_(std::move(axes)),
        at_once_(at_once) {}

  /// The outputs of all elements, stacked on axis 0.
  AnyValue forward(const void* call, const CallOptions& how) const;
  /// `output` and the cotangents are stacked on axis 0. Gradients of arrays that all elements share
  /// are summed in f32.
  AnyValue backward(const void* call, const void* output, const Cotangents& d,
                    const CallOptions& how) const;

 private:
  struct Element;
  Index count(const void* call) const;
  std::optional<Index> axis_of(std::string_view array) const;
  AnyConfig choose(const void* call, const CallOptions& how) const;
  /// The outputs or gradients of all elements, in the first of them.
  AnyValue joined(std::vector<AnyValue>& values, bool gradients) const;

  Executor executor_;
  const Operation* operation_;
  InAxes axes_;
  bool at_once_;
};

/// A batched call whose operation is known when it is compiled.
template <class Op>
class BatchedCall {
 public:
  BatchedCall(const Executor& executor, InAxes axes, bool at_once)
      : calls_(executor, kOperation<Op>, std::move(axes), at_once) {}

  typename Op::Output operator()(const typename Op::Inputs& inputs,
                                 const typename Op::Options& options = {},
                                 const CallOptions& how = {}) const {
    const typename Op::Call call{inputs, options};
    return taken<typename Op::Output>(calls_.forward(&call, how));
  }
  typename Op::Gradients backward(const typename Op::Inputs& inputs,
                                  const typename Op::Output& forward, const Cotangents& d,
                                  const typename Op::Options& options = {},
                                  const CallOptions& how = {}) const {
    const typename Op::Call call{inputs, options};
    return taken<typename Op::Gradients>(calls_.backward(&call, &forward, d, how));
  }

 private:
  ElementCalls calls_;
};

/// One element after another.
template <class Op>
BatchedCall<Op> vmap_with_config(const Executor& executor, const Module<Op>&, InAxes in_axes = {}) {
  return {executor, std::move(in_axes), false};
}

/// Every element on a (simulated) device of its own, all at once. Nothing travels between them, so
/// that ejkernel's axis_name has no part here.
template <class Op>
BatchedCall<Op> pmap_with_config(const Executor& executor, const Module<Op>&, InAxes in_axes = {}) {
  return {executor, std::move(in_axes), true};
}

}  // namespace maskctl::attention
