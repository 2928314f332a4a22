#include "maskctl/ejkernel/lazy/subscript.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/ejkernel/mask_info/python_error.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::lazy {
namespace {

std::string text(const std::optional<Index>& part) {
  return part ? fmt::format("{}", *part) : "None";
}

/// The repr of a short index array in numpy: elements padded to equal width, axes as nested lists.
std::string text(const Tensor& array) {
  const std::vector<std::int64_t> values = as_int64(array, "the index array");
  std::size_t width = 0;
  for (const std::int64_t v : values) width = std::max(width, fmt::format("{}", v).size());
  std::size_t next = 0;
  const auto axis_text = [&](const auto& self, Index axis) -> std::string {
    if (axis == array.rank()) return fmt::format("{:>{}}", values[next++], width);
    std::string out = "[";
    for (Index i = 0; i < array.extent(axis); ++i) {
      if (i > 0) out += ", ";
      out += self(self, axis + 1);
    }
    return out + "]";
  };
  return fmt::format("array({}, dtype={})", axis_text(axis_text, 0), name(array.dtype()));
}

std::string text(const Subscript& subscript) {
  if (const auto* slice = std::get_if<Slice>(&subscript)) {
    return fmt::format("slice({}, {}, {})", text(slice->start), text(slice->stop),
                       text(slice->step));
  }
  if (const auto* number = std::get_if<Index>(&subscript)) return fmt::format("{}", *number);
  return text(std::get<Tensor>(subscript));
}

void require(bool holds) {
  if (!holds) throw PythonError(PythonType::kAssertionError, "");
}

std::pair<Index, Index> filled(const Slice& slice, Index extent) {
  require(!slice.step || *slice.step == 1);
  const Index start = slice.start.value_or(0), stop = slice.stop.value_or(extent);
  require(start >= 0);
  require(stop <= extent);
  return {start, stop};
}

}  // namespace

std::string python_text(std::span<const Subscript> index) {
  std::string out = "(";
  for (std::size_t i = 0; i < index.size(); ++i) {
    if (i > 0) out += ", ";
    out += text(index[i]);
  }
  return out + (index.size() == 1 ? ",)" : ")");
}

Positions resolve(const Slice& slice, Index extent) {
  const Index step = slice.step.value_or(1);
  if (step == 0) throw PythonError(PythonType::kValueError, "slice step cannot be zero");
  // A backward slice starts at the last element and stops before the first, at -1.
  const Index low = step > 0 ? 0 : -1, high = step > 0 ? extent : extent - 1;
  const auto bound = [&](const std::optional<Index>& part, Index otherwise) {
    if (!part) return otherwise;
    return std::clamp(*part < 0 ? *part + extent : *part, low, high);
  };
  const Index start = bound(slice.start, step > 0 ? low : high);
  const Index stop = bound(slice.stop, step > 0 ? high : low);
  const Index span = step > 0 ? stop - start : start - stop;
  if (span <= 0) return {start, step, 0};
  // A step longer than the extent selects one element. Clamped, so that -step cannot overflow.
  const Index stride = step > 0 ? step : -std::max(step, -extent - 1);
  return {start, step, ceil_div(span, stride)};
}

Window filled_slices(std::span<const Subscript> index, std::span<const Index> shape) {
  const auto* q = index.size() == 2 ? std::get_if<Slice>(&index[0]) : nullptr;
  const auto* k = index.size() == 2 ? std::get_if<Slice>(&index[1]) : nullptr;
  if (!q || !k) {
    throw PythonError(PythonType::kNotImplementedError, "Unsupported slice: " + python_text(index));
  }
  const auto [q_start, q_stop] = filled(*q, shape[0]);
  const auto [k_start, k_stop] = filled(*k, shape[1]);
  return {q_start, q_stop, k_start, k_stop};
}

}  // namespace maskctl::lazy
