// Slices as copies of whole rows.
#include "maskctl/attention/arrays/slices.h"

#include <algorithm>

namespace maskctl::attention {
namespace {

/// Bytes of one place on the axis, and how many arrays of them lie one after another.
struct Strides {
  Strides(const Tensor& x, Index axis) : bytes(size_bytes(x.dtype())) {
    for (Index i = 0; i < axis; ++i) outer *= x.extent(i);
    for (Index i = axis + 1; i < x.rank(); ++i) bytes *= x.extent(i);
  }
  Index outer = 1, bytes;
};

}  // namespace

Tensor slice_of(const Tensor& x, Index axis, Range range) {
  std::vector<Index> shape = x.shape();
  shape[as_size(axis)] = range.size();
  Tensor part(x.dtype(), std::move(shape));
  const Strides s(x, axis);
  for (Index n = 0; n < s.outer; ++n) {
    std::copy_n(x.bytes().data() + (n * x.extent(axis) + range.begin) * s.bytes,
                range.size() * s.bytes, part.bytes().data() + n * range.size() * s.bytes);
  }
  return part;
}

void write_slice(const Tensor& part, Index axis, Index first, Tensor& whole) {
  const Strides s(part, axis);
  const Index width = part.extent(axis);
  for (Index n = 0; n < s.outer; ++n) {
    std::copy_n(part.bytes().data() + n * width * s.bytes, width * s.bytes,
                whole.bytes().data() + (n * whole.extent(axis) + first) * s.bytes);
  }
}

}  // namespace maskctl::attention
