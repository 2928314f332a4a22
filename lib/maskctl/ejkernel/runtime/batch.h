// ejkernel's vmap_with_config and pmap_with_config: run an operation once for each element of
// batched arrays, with the config that is chosen for the first element.
#pragma once

#include <optional>
#include <vector>

#include "maskctl/ejkernel/runtime/executor.h"

namespace maskctl::attention {

/// The batch axis of each array of a call: one axis for all arrays, or one for each array, in the
/// order of in_specs. Arrays with nullopt, and those past the end of the list, have no such axis:
/// all elements of the batch share them.
struct InAxes {
  InAxes(Index all = 0) : of_all_(all) {}            // NOLINT: allows ejkernel's in_axes=0
  InAxes(std::vector<std::optional<Index>> of_each)  // NOLINT: allows a list of axes
      : each_(std::move(of_each)) {}

  std::optional<Index> of(std::size_t number) const {
    if (of_all_) return of_all_;
    return number < each_.size() ? each_[number] : std::nullopt;
  }

 private:
  std::optional<Index> of_all_;
  std::vector<std::optional<Index>> each_;
};

/// Returns element i of a batched array, as an array without the batch axis `axis`.
Tensor element_of(const Tensor& whole, Index axis, Index i);

/// Runs a call once for each element of a batch, either one after another, or on up to 16 threads.
/// Elements share masks and MaskInfo; arrays that the operation updates are updated in every
/// element. forward() and backward() throw Error(kShape) if an array does not have its batch axis,
/// has no elements, or has another number of elements than other arrays; Error(kInvalidArgument) if
/// no array has a batch axis; and what the call throws.
class ElementCalls {
 public:
  ElementCalls(Executor executor, const Operation& operation, InAxes axes, bool at_once)
      : executor_(std::move(executor)),
        operation_(&operation),
        axes_(std::move(axes)),
        at_once_(at_once) {}

  /// Returns the outputs of all elements of the batch, stacked along axis 0.
  AnyValue forward(const void* call, const CallOptions& how) const;
  /// `output` and the cotangents are stacked along axis 0. Gradients of arrays that all elements
  /// share are summed in f32.
  AnyValue backward(const void* call, const void* output, const Cotangents& d,
                    const CallOptions& how) const;

 private:
  struct Element;
  Index count(const void* call) const;
  std::optional<Index> axis_of(std::string_view array) const;
  AnyConfig choose(const void* call, const CallOptions& how) const;
  /// Joins the outputs or gradients of all elements of the batch. Stores them in the first of
  /// `values`, and returns it.
  AnyValue joined(std::vector<AnyValue>& values, bool gradients) const;

  Executor executor_;
  const Operation* operation_;
  InAxes axes_;
  bool at_once_;
};

/// Batched calls of an operation that is known at compile time.
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

/// Batched calls that run one element after another.
template <class Op>
BatchedCall<Op> vmap_with_config(const Executor& executor, const Module<Op>&, InAxes in_axes = {}) {
  return {executor, std::move(in_axes), false};
}

/// Batched calls that run all elements in parallel, each on a (simulated) device of its own.
/// Elements exchange no data, so ejkernel's axis_name has no counterpart.
template <class Op>
BatchedCall<Op> pmap_with_config(const Executor& executor, const Module<Op>&, InAxes in_axes = {}) {
  return {executor, std::move(in_axes), true};
}

}  // namespace maskctl::attention
