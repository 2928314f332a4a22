// ejkernel's vmap_with_config and pmap_with_config: a call for each element of a batch of calls,
// with the config of the first.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/attention/runtime/executor.h"

namespace maskctl::attention {

/// The axis of each array along which its elements lie: one for all, or one for each in the order
/// of in_specs, nullopt (and arrays past the end) for arrays that all elements share.
struct InAxes {
  InAxes(Index all = 0) : of_all_(all) {}            // NOLINT: reads as the seed's in_axes=0
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

/// How many elements arrays have. Throws Error(kShape) for an axis that an array does not have and
/// for arrays that differ.
class ElementCount {
 public:
  void add(std::string_view name, const Tensor& array, Index axis);
  /// Throws Error(kInvalidArgument) when no array was added.
  Index get() const;

 private:
  std::optional<Index> count_;
};

/// Element i of an array, without that axis; and putting it back.
Tensor element_of(const Tensor& whole, Index axis, Index i);
void put_element(const Tensor& element, Index axis, Index i, Tensor& whole);

/// f(i) for i below n, one after another or up to 16 at a time, each on a thread of its own.
/// Rethrows the first error.
void run_elements(Index n, bool at_once, const std::function<void(Index)>& f);

/// The calls of all elements. Masks and MaskInfo are shared; arrays that the operation updates are
/// updated in every element.
template <class Op>
class BatchedCall {
 public:
  using Inputs = typename Op::Inputs;
  using Options = typename Op::Options;
  using Output = typename Op::Output;
  using Gradients = typename Op::Gradients;
  using Call = CallOptions<typename Op::Config>;

  BatchedCall(Executor executor, Module<Op> module, InAxes axes, bool at_once)
      : executor_(std::move(executor)),
        module_(module),
        axes_(std::move(axes)),
        at_once_(at_once) {}

  /// The results of all elements, stacked on axis 0. Throws what ElementCount and the call throw.
  Output operator()(const Inputs& inputs, const Options& options = {},
                    const Call& call = {}) const {
    const auto config = choose(inputs, options, call);
    std::vector<std::optional<Output>> parts(count(inputs, options));
    run_elements(static_cast<Index>(parts.size()), at_once_, [&](Index i) {
      Element one(inputs, options, axes_, i);
      parts[as_size(i)] =
          run_call(executor_.kernels(), module_, one.inputs, one.options, config, call);
      for (const auto& update : one.updates) {
        put_element(*update.part, update.axis, i, *update.whole);
      }
    });
    Output whole = *parts[0];
    const auto wholes = arrays_of(whole);
    for (const ResultArray& array : wholes)
      *array.tensor = stack_of(*array.tensor, 0, parts.size());
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto own = arrays_of(*parts[i]);
      for (std::size_t n = 0; n < own.size(); ++n) {
        put_element(*own[n].tensor, 0, static_cast<Index>(i), *wholes[n].tensor);
      }
    }
    return whole;
  }

  /// Its gradients; `forward` and the cotangents are stacked on axis 0. Those of arrays that all
  /// elements share are summed in f32.
  Gradients backward(const Inputs& inputs, const Output& forward, const Cotangents& cotangents,
                     const Options& options = {}, const Call& call = {}) const {
    const auto config = choose(inputs, options, call);
    std::vector<std::optional<Gradients>> parts(count(inputs, options));
    run_elements(static_cast<Index>(parts.size()), at_once_, [&](Index i) {
      const Element one(inputs, options, axes_, i);
      Output out = forward;
      for (const ResultArray& array : arrays_of(out)) {
        *array.tensor = element_of(*array.tensor, 0, i);
      }
      OwnedArrays owned;
      const auto part_of = [&](const Tensor* whole) -> const Tensor* {
        return whole ? owned.keep(element_of(*whole, 0, i)) : nullptr;
      };
      const Cotangents d{part_of(cotangents.out), part_of(cotangents.lse),
                         part_of(cotangents.final_state)};
      parts[as_size(i)] = run_call_backward(executor_.kernels(), module_, one.inputs, out, d,
                                            one.options, config, call);
    });
    return joined(parts, axes_by_name(inputs, options));
  }

 private:
  using AxesByName = std::map<std::string, std::optional<Index>, std::less<>>;

  /// The call of one element.
  struct Element {
    Element(const Inputs& in, const Options& o, const InAxes& axes, Index i)
        : inputs(in), options(o) {
      for_each_array(inputs, options, axes,
                     [&](std::string_view, auto& array, std::optional<Index> axis) {
                       if (axis) take(array, *axis, i);
                     });
    }
    void take(const Tensor*& array, Index axis, Index i) {
      array = owned.keep(element_of(*array, axis, i));
    }
    void take(Tensor*& array, Index axis, Index i) {
      Tensor* part = owned.keep(element_of(*array, axis, i));
      updates.push_back({array, part, axis});
      array = part;
    }

    struct Update {
      Tensor* whole;
      Tensor* part;
      Index axis;
    };
    Inputs inputs;
    Options options;
    OwnedArrays owned;
    std::vector<Update> updates;
  };

  /// f(name, array, axis) for each tensor that is given.
  template <class F>
  static void for_each_array(Inputs& in, Options& o, const InAxes& axes, F&& f) {
    std::size_t number = 0;
    Op::arrays(in, o, [&](std::string_view name, auto& array, std::string_view) {
      if constexpr (std::is_convertible_v<decltype(array), const Tensor*>) {
        const std::optional<Index> axis = axes.of(number++);
        if (array) f(name, array, axis);
      }
    });
  }

  std::size_t count(Inputs in, Options o) const {
    ElementCount elements;
    for_each_array(in, o, axes_,
                   [&](std::string_view name, auto& array, std::optional<Index> axis) {
                     if (axis) elements.add(name, *array, *axis);
                   });
    return as_size(elements.get());
  }

  AxesByName axes_by_name(Inputs in, Options o) const {
    AxesByName axes;
    for_each_array(in, o, axes_, [&](std::string_view name, auto&, std::optional<Index> axis) {
      axes.emplace(name, axis);
    });
    return axes;
  }

  typename Op::Config choose(const Inputs& inputs, const Options& options, const Call& call) const {
    count(inputs, options);  // throws before any work
    const Element first(inputs, options, axes_, 0);
    return executor_.choose_config(module_, first.inputs, first.options, call);
  }

  static std::vector<ResultArray> arrays_of(Output& output) {
    return result_arrays([&](auto&& f) { Op::outputs(output, f); });
  }
  static std::vector<ResultArray> gradients_of(Gradients& gradients) {
    return result_arrays([&](auto&& f) { Op::gradients(gradients, f); });
  }

  /// Room for `n` elements like this one.
  static Tensor stack_of(const Tensor& element, Index axis, std::size_t n) {
    std::vector<Index> shape = element.shape();
    shape.insert(shape.begin() + axis, static_cast<Index>(n));
    return Tensor(element.dtype(), shape);
  }

  static Gradients joined(std::vector<std::optional<Gradients>>& parts, const AxesByName& axes) {
    Gradients whole = *parts[0];
    const auto wholes = gradients_of(whole);
    for (std::size_t n = 0; n < wholes.size(); ++n) {
      Tensor& target = *wholes[n].tensor;
      const std::optional<Index> axis = axes.find(wholes[n].name)->second;
      const DType dtype = target.dtype();
      target =
          axis ? stack_of(target, *axis, parts.size()) : Tensor(DType::kFloat32, target.shape());
      for (std::size_t i = 0; i < parts.size(); ++i) {
        const Tensor& part = *gradients_of(*parts[i])[n].tensor;
        if (axis) {
          put_element(part, *axis, static_cast<Index>(i), target);
        } else {
          std::ranges::transform(astype(part, DType::kFloat32).template as<float>(),
                                 target.as<float>(), target.as<float>().begin(), std::plus<>());
        }
      }
      target = astype(target, dtype);
    }
    return whole;
  }

  Executor executor_;
  Module<Op> module_;
  InAxes axes_;
  bool at_once_;
};

/// One element after another.
template <class Op>
BatchedCall<Op> vmap_with_config(const Executor& executor, const Module<Op>& module,
                                 InAxes in_axes = {}) {
  return {executor, module, std::move(in_axes), false};
}

/// Every element on a (simulated) device of its own, all at once. Nothing travels between them, so
/// that the seed's axis_name has no part here.
template <class Op>
BatchedCall<Op> pmap_with_config(const Executor& executor, const Module<Op>& module,
                                 InAxes in_axes = {}) {
  return {executor, module, std::move(in_axes), true};
}

}  // namespace maskctl::attention
