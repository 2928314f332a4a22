#include "maskctl/tensor/tensor_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/base/error.h"

namespace maskctl {

template <class Byte>
BasicTensorView<Byte>::BasicTensorView(Byte* data, DType dtype, std::span<const Index> shape,
                                       MemoryPlace place)
    : data_(data), dtype_(dtype), place_(place) {
  set_shape(shape);
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    strides_[axis] = elements_;
    elements_ *= shape[axis];
  }
}

template <class Byte>
BasicTensorView<Byte>::BasicTensorView(Byte* data, DType dtype, std::span<const Index> shape,
                                       std::span<const Index> strides, MemoryPlace place)
    : data_(data), dtype_(dtype), place_(place) {
  set_shape(shape);
  std::ranges::copy(strides, strides_.begin());
  for (Index axis = rank_; axis-- > 0;) {
    contiguous_ = contiguous_ && (extent(axis) <= 1 || stride(axis) == elements_);
    elements_ *= extent(axis);
  }
  contiguous_ = contiguous_ || elements_ == 0;
}

template <class Byte>
void BasicTensorView<Byte>::set_shape(std::span<const Index> shape) {
  if (shape.size() > kMaxRank) {
    throw Error(Errc::kShape,
                fmt::format("shape {} has more than {} axes", shape_text(shape), kMaxRank));
  }
  rank_ = std::ssize(shape);
  std::ranges::copy(shape, shape_.begin());
}

template <class Byte>
void BasicTensorView<Byte>::refuse_reading() const {
  if (place_.space != MemorySpace::kHost) {
    throw Error(Errc::kUnsupported,
                fmt::format("an array of shape {} is on device {}, expected it on the host",
                            shape_text(shape()), place_.number));
  }
  throw Error(Errc::kUnsupported,
              fmt::format("an array of shape {} has strides {}, expected C order without gaps",
                          shape_text(shape()), shape_text(strides())));
}

template class BasicTensorView<const std::byte>;
template class BasicTensorView<std::byte>;

}  // namespace maskctl
