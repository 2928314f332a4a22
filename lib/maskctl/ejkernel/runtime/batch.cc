#include "maskctl/ejkernel/runtime/batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <functional>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/attention/arrays/slices.h"
#include "maskctl/attention/ring/communicator.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::attention {

Tensor element_of(const Tensor& whole, Index axis, Index i) {
  Tensor element = slice_of(whole, axis, {i, i + 1});
  std::vector<Index> shape = whole.shape();
  shape.erase(shape.begin() + axis);
  element.reshape(std::move(shape));
  return element;
}

namespace {

/// Checks that all batched arrays have the same number of batch elements, and returns that number.
class ElementCount {
 public:
  void add(std::string_view name, const Tensor& array, Index axis) {
    if (axis < 0 || axis >= array.rank()) {
      refuse_shape(fmt::format("{} is {}, which has no axis {} to take elements from", name,
                               shape_text(array.shape()), axis));
    }
    const Index count = array.extent(axis);
    if (count == 0 || count_.value_or(count) != count) {
      refuse_shape(fmt::format("{} has {} elements along axis {}, expected {}", name, count, axis,
                               count == 0 ? "1 or more" : std::to_string(*count_)));
    }
    count_ = count;
  }
  Index get() const {
    if (count_) return *count_;
    refuse("no array has an axis of elements; give one an axis");
  }

 private:
  std::optional<Index> count_;
};

/// The most elements of a batch to run at a time. Each of them uses all cores, so more would not be
/// faster.
constexpr Index kMostAtOnce = 16;

/// Calls f(i) for all 0 <= i < n. Rethrows the first exception.
void run_elements(Index n, bool at_once, const std::function<void(Index)>& f) {
  std::atomic<Index> next{0};
  const auto work = [&](auto&&...) {
    for (Index i = next++; i < n; i = next++) f(i);
  };
  at_once ? run_ring(std::min(n, kMostAtOnce), work) : work();
}

/// Makes an array that can hold `n` arrays like `element`, stacked along `axis`.
Tensor stack_of(const Tensor& element, Index axis, std::size_t n) {
  std::vector<Index> shape = element.shape();
  shape.insert(shape.begin() + axis, static_cast<Index>(n));
  return Tensor(element.dtype(), shape);
}

}  // namespace

/// The call for one element of the batch, with the element's slice of each batched array.
struct ElementCalls::Element {
  struct Update {
    Tensor* whole;
    Tensor* part;
    Index axis;
  };

  Element(const ElementCalls& calls, const void* whole, Index i)
      : call(calls.operation_->copy_call(whole)) {
    std::size_t number = 0;
    for (const Field& field : calls.operation_->fields) {
      const std::optional<Index> axis = field.is_array ? calls.axes_.of(number++) : std::nullopt;
      if (!axis) continue;
      visit_member(field, call.get(), [&](auto& member) {
        if constexpr (requires { take(member, *axis, i); }) {
          if (member) take(member, *axis, i);
        }
      });
    }
  }
  void take(const Tensor*& array, Index axis, Index i) {
    array = owned.keep(element_of(*array, axis, i));
  }
  void take(Tensor*& array, Index axis, Index i) {
    Tensor* const part = owned.keep(element_of(*array, axis, i));
    updates.push_back({array, part, axis});
    array = part;
  }

  AnyValue call;
  OwnedArrays owned;
  std::vector<Update> updates;
};

std::optional<Index> ElementCalls::axis_of(std::string_view array) const {
  std::size_t number = 0;
  for (const Field& field : operation_->fields) {
    if (!field.is_array) continue;
    if (field.name == array) return axes_.of(number);
    ++number;
  }
  return std::nullopt;
}

Index ElementCalls::count(const void* call) const {
  ElementCount elements;
  for_each_array(*operation_, call, [&](const Field& field, const Tensor& array) {
    if (const auto axis = axis_of(field.name)) elements.add(field.name, array, *axis);
  });
  return elements.get();
}

AnyConfig ElementCalls::choose(const void* call, const CallOptions& how) const {
  const Element first(*this, call, 0);
  return executor_.config_of(*operation_, first.call.get(), how);
}

AnyValue ElementCalls::forward(const void* call, const CallOptions& how) const {
  std::vector<AnyValue> parts(as_size(count(call)));
  const AnyConfig config = choose(call, how);
  const ConfiguredCall configured{*operation_, config, how};
  run_elements(static_cast<Index>(parts.size()), at_once_, [&](Index i) {
    const Element one(*this, call, i);
    parts[as_size(i)] = configured.forward(one.call.get());
    for (const auto& [whole, part, axis] : one.updates)
      put(*part, along(*whole, axis, {i, i + 1}), *whole);
  });
  return joined(parts, false);
}

AnyValue ElementCalls::backward(const void* call, const void* output, const Cotangents& d,
                                const CallOptions& how) const {
  std::vector<AnyValue> parts(as_size(count(call)));
  const AnyConfig config = choose(call, how);
  const ConfiguredCall configured{*operation_, config, how};
  run_elements(static_cast<Index>(parts.size()), at_once_, [&](Index i) {
    const Element one(*this, call, i);
    const AnyValue out = operation_->copy_output(output);
    for (const ResultArray& array : arrays_of(operation_->outputs, out.get())) {
      *array.tensor = element_of(*array.tensor, 0, i);
    }
    OwnedArrays owned;
    const auto part_of = [&](const Tensor* whole) -> const Tensor* {
      return whole ? owned.keep(element_of(*whole, 0, i)) : nullptr;
    };
    const Cotangents part{part_of(d.out), part_of(d.lse), part_of(d.final_state)};
    parts[as_size(i)] = configured.backward(one.call.get(), out.get(), part);
  });
  return joined(parts, true);
}

AnyValue ElementCalls::joined(std::vector<AnyValue>& values, bool gradients) const {
  std::vector<std::vector<ResultArray>> parts;
  parts.reserve(values.size());
  for (const AnyValue& one : values) {
    parts.push_back(arrays_of(gradients ? operation_->gradients : operation_->outputs, one.get()));
  }
  for (std::size_t n = 0; n < parts[0].size(); ++n) {
    Tensor& first = *parts[0][n].tensor;
    const std::optional<Index> axis = gradients ? axis_of(parts[0][n].name) : Index{0};
    Tensor whole =
        axis ? stack_of(first, *axis, parts.size()) : Tensor(DType::kFloat32, first.shape());
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const Tensor& part = *parts[i][n].tensor;
      const auto index = static_cast<Index>(i);
      axis ? put(part, along(whole, *axis, {index, index + 1}), whole) : add(part, whole);
    }
    first = whole.dtype() == first.dtype() ? std::move(whole) : astype(whole, first.dtype());
  }
  return values[0];
}

}  // namespace maskctl::attention
