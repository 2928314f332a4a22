#include "maskctl/tensor/tensor_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/base/error.h"

namespace maskctl {
namespace {

/// Those of C order.
std::array<Index, TensorView::kMaxRank> dense_strides(std::span<const Index> shape) {
  std::array<Index, TensorView::kMaxRank> strides{};
  Index step = 1;
  for (std::size_t axis = std::min(shape.size(), strides.size()); axis-- > 0;) {
    strides[axis] = step;
    step *= shape[axis];
  }
  return strides;
}

}  // namespace

template <class Byte>
BasicTensorView<Byte>::BasicTensorView(Byte* data, DType dtype, std::span<const Index> shape,
                                       MemoryPlace place)
    : BasicTensorView(
          data, dtype, shape,
          std::span<const Index>(dense_strides(shape)).first(std::min(shape.size(), kMaxRank)),
          place) {}

template <class Byte>
BasicTensorView<Byte>::BasicTensorView(Byte* data, DType dtype, std::span<const Index> shape,
                                       std::span<const Index> strides, MemoryPlace place)
    : data_(data), dtype_(dtype), place_(place), rank_(std::ssize(shape)) {
  if (shape.size() > kMaxRank) {
    throw Error(Errc::kShape,
                fmt::format("shape {} has more than {} axes", shape_text(shape), kMaxRank));
  }
  std::ranges::copy(shape, shape_.begin());
  std::ranges::copy(strides, strides_.begin());
  for (Index axis = rank_; axis-- > 0;) {
    contiguous_ = contiguous_ && (extent(axis) <= 1 || stride(axis) == elements_);
    elements_ *= extent(axis);
  }
  contiguous_ = contiguous_ || elements_ == 0;
}

template <class Byte>
void BasicTensorView<Byte>::check_readable() const {
  if (place_.space != MemorySpace::kHost) {
    throw Error(Errc::kUnsupported,
                fmt::format("an array of shape {} is on device {}, expected it on the host",
                            shape_text(shape()), place_.number));
  }
  if (!contiguous_) {
    throw Error(Errc::kUnsupported,
                fmt::format("an array of shape {} has strides {}, expected C order without gaps",
                            shape_text(shape()), shape_text(strides())));
  }
}

template class BasicTensorView<const std::byte>;
template class BasicTensorView<std::byte>;

}  // namespace maskctl
