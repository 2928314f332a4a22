#include "maskctl/attention/runtime/batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>

#include "maskctl/attention/arrays/slices.h"
#include "maskctl/base/error.h"

namespace maskctl::attention {

void ElementCount::add(std::string_view name, const Tensor& array, Index axis) {
  if (axis < 0 || axis >= array.rank()) {
    throw Error(Errc::kShape, fmt::format("{} is {}, which has no axis {} to take elements from",
                                          name, shape_text(array.shape()), axis));
  }
  const Index count = array.extent(axis);
  if (count == 0 || count_.value_or(count) != count) {
    throw Error(Errc::kShape,
                fmt::format("{} has {} elements along axis {}, expected {}", name, count, axis,
                            count == 0 ? "1 or more" : std::to_string(*count_)));
  }
  count_ = count;
}

Index ElementCount::get() const {
  if (count_) return *count_;
  throw Error(Errc::kInvalidArgument, "no array has an axis of elements; give one an axis");
}

Tensor element_of(const Tensor& whole, Index axis, Index i) {
  Tensor element = slice_of(whole, axis, {i, i + 1});
  std::vector<Index> shape = whole.shape();
  shape.erase(shape.begin() + axis);
  element.reshape(std::move(shape));
  return element;
}

void put_element(const Tensor& element, Index axis, Index i, Tensor& whole) {
  Tensor slice = element;
  std::vector<Index> shape = element.shape();
  shape.insert(shape.begin() + axis, 1);
  slice.reshape(std::move(shape));
  write_slice(slice, axis, i, whole);
}

/// Elements at work at one time, each of which uses all cores: more would only wait for them.
constexpr Index kMostAtOnce = 16;

void run_elements(Index n, bool at_once, const std::function<void(Index)>& f) {
  if (!at_once) {
    for (Index i = 0; i < n; ++i) f(i);
    return;
  }
  std::vector<std::exception_ptr> failures(as_size(n));
  std::atomic<Index> next{0};
  const auto work = [&] {
    for (Index i = next++; i < n; i = next++) {
      try {
        f(i);
      } catch (...) {
        failures[as_size(i)] = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> team;
    for (Index i = 1; i < std::min<Index>(n, kMostAtOnce); ++i) team.emplace_back(work);
    work();
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

}  // namespace maskctl::attention
