#include "maskctl/tensor/lines.h"

#include <algorithm>
#include <cstring>

#include "maskctl/base/error.h"

namespace maskctl {

Lines::Lines(const TensorView& view) : view_(view) {
  if (view.place().space != MemorySpace::kHost) {
    throw Error(Errc::kUnsupported, "an array in the memory of a device, expected it on the host");
  }
  if (view.rank() == 0) return;
  length_ = view.extent(view.rank() - 1);
  stride_ = view.stride(view.rank() - 1);
  for (Index axis = 0; axis + 1 < view.rank(); ++axis) count_ *= view.extent(axis);
}

std::span<const std::byte> Lines::read(Index line, Range columns, Buffer& buffer) const {
  const Index size = size_bytes(view_.dtype());
  Index at = columns.begin * stride_;
  for (Index axis = view_.rank() - 2; axis >= 0; --axis) {
    at += line % view_.extent(axis) * view_.stride(axis);
    line /= view_.extent(axis);
  }
  const std::byte* from = view_.data() + at * size;
  const std::size_t bytes = as_size(columns.size() * size);
  if (stride_ == 1 || columns.size() <= 1) return {from, bytes};
  buffer.resize(bytes);
  for (std::size_t done = 0; done < bytes; done += as_size(size), from += stride_ * size) {
    std::memcpy(buffer.data() + done, from, as_size(size));
  }
  return buffer;
}

Tensor copy_of(const TensorView& view) {
  Tensor out =
      Tensor::unwritten(view.dtype(), std::vector<Index>(view.shape().begin(), view.shape().end()));
  if (out.elements() == 0) return out;
  const Lines lines(view);
  Lines::Buffer buffer;
  auto to = out.bytes().begin();
  for (Index line = 0; line < lines.count(); ++line) {
    to = std::ranges::copy(lines.read(line, {0, lines.length()}, buffer), to).out;
  }
  return out;
}

}  // namespace maskctl
