#include "maskctl/attention/arrays/slices.h"

#include <algorithm>
#include <functional>

#include "maskctl/tensor/convert.h"

namespace maskctl::attention {
namespace {

/// Returns `elements` elements of an array, from `first` on, as a span of bytes.
template <class Array>
auto stretch(Array& array, Index first, Index elements) {
  const Index size = size_bytes(array.dtype());
  return array.bytes().subspan(as_size(first * size), as_size(elements * size));
}

}  // namespace

ArrayPlace place_of(std::span<const Range> part) {
  ArrayPlace place;
  for (const Range& range : part) place.push_back({range});
  return place;
}

Tensor take(const Tensor& whole, const ArrayPlace& place) {
  Tensor out = Tensor::unwritten(whole.dtype(), shape_of(place));
  for_each_stretch(whole.shape(), place, [&](Index from, Index to, Index n) {
    std::ranges::copy(stretch(whole, from, n), stretch(out, to, n).begin());
  });
  return out;
}

void put(const Tensor& part, const ArrayPlace& place, Tensor& whole) {
  for_each_stretch(whole.shape(), place, [&](Index to, Index from, Index n) {
    std::ranges::copy(stretch(part, from, n), stretch(whole, to, n).begin());
  });
}

void add(const Tensor& part, const ArrayPlace& place, Tensor& whole) {
  for_each_stretch(whole.shape(), place, [&](Index to, Index from, Index n) {
    const auto sums = whole.as<float>().subspan(as_size(to), as_size(n));
    std::ranges::transform(part.as<float>().subspan(as_size(from), as_size(n)), sums, sums.begin(),
                           std::plus<>());
  });
}

Tensor take(const Tensor& whole, std::span<const Range> part) {
  return take(whole, place_of(part));
}

void put(const Tensor& part, std::span<const Range> place, Tensor& whole) {
  put(part, place_of(place), whole);
}

void add(const Tensor& part, std::span<const Range> place, Tensor& whole) {
  add(part, place_of(place), whole);
}

ArrayPlace along(const Tensor& whole, Index axis, std::span<const Range> ranges) {
  ArrayPlace place = place_of(along(whole, axis, Range{}));
  place[as_size(axis)].assign(ranges.begin(), ranges.end());
  return place;
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
