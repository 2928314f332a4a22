#include "maskctl/attention/arrays/slices.h"

#include <algorithm>
#include <functional>

#include "maskctl/tensor/convert.h"

namespace maskctl::attention {
namespace {

/// f(offset in the whole, offset in the part, elements) for each contiguous stretch of a part,
/// which is as long as the last axes that the part has whole.
template <class F>
void for_each_stretch(std::span<const Index> shape, std::span<const Range> part, F&& f) {
  if (std::ranges::any_of(part, [](const Range& range) { return range.empty(); })) return;
  std::size_t outer = shape.size();  // axes before those of a stretch
  Index elements = 1, below = 1;     // of a stretch; of the whole along its axes
  for (bool whole = true; outer > 0 && whole;) {
    --outer;
    whole = part[outer].size() == shape[outer];
    elements = below * part[outer].size();
    below *= shape[outer];
  }
  const Index first = outer < shape.size() ? part[outer].begin * (below / shape[outer]) : 0;
  std::vector<Index> at(outer, 0);  // within the part
  for (Index n = 0;; ++n) {
    Index offset = 0;
    for (std::size_t axis = 0; axis < outer; ++axis) {
      offset = offset * shape[axis] + part[axis].begin + at[axis];
    }
    f(offset * below + first, n * elements, elements);
    std::size_t axis = outer;
    while (axis > 0 && ++at[axis - 1] == part[axis - 1].size()) at[--axis] = 0;
    if (axis == 0) return;
  }
}

/// Some elements, as bytes.
template <class Array>
auto stretch(Array& array, Index first, Index elements) {
  const Index size = size_bytes(array.dtype());
  return array.bytes().subspan(as_size(first * size), as_size(elements * size));
}

}  // namespace

Tensor take(const Tensor& whole, std::span<const Range> part) {
  std::vector<Index> shape;
  for (const Range& range : part) shape.push_back(range.size());
  Tensor out(whole.dtype(), shape);
  for_each_stretch(whole.shape(), part, [&](Index from, Index to, Index n) {
    std::ranges::copy(stretch(whole, from, n), stretch(out, to, n).begin());
  });
  return out;
}

void put(const Tensor& part, std::span<const Range> place, Tensor& whole) {
  for_each_stretch(whole.shape(), place, [&](Index to, Index from, Index n) {
    std::ranges::copy(stretch(part, from, n), stretch(whole, to, n).begin());
  });
}

void add(const Tensor& part, std::span<const Range> place, Tensor& whole) {
  for_each_stretch(whole.shape(), place, [&](Index to, Index from, Index n) {
    const auto sums = whole.as<float>().subspan(as_size(to), as_size(n));
    std::ranges::transform(part.as<float>().subspan(as_size(from), as_size(n)), sums, sums.begin(),
                           std::plus<>());
  });
}

std::vector<Range> along(const Tensor& whole, Index axis, Range range) {
  std::vector<Range> part;
  for (const Index extent : whole.shape()) part.push_back({0, extent});
  part[as_size(axis)] = range;
  return part;
}

Tensor slice_of(const Tensor& x, Index axis, Range range) { return take(x, along(x, axis, range)); }

void write_slice(const Tensor& part, Index axis, Index first, Tensor& whole) {
  put(part, along(whole, axis, {first, first + part.extent(axis)}), whole);
}

void add(const Tensor& part, Tensor& sum) {
  if (part.dtype() != DType::kFloat32) return add(astype(part, DType::kFloat32), sum);
  std::ranges::transform(part.as<float>(), sum.as<float>(), sum.as<float>().begin(), std::plus<>());
}

}  // namespace maskctl::attention
