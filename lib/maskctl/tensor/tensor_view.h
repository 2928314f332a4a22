// A view of an array whose memory belongs to somebody else: its address, dtype, shape and strides.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

#include "maskctl/tensor/tensor.h"

namespace maskctl {

enum class MemorySpace : std::uint8_t { kHost, kDevice };

/// Which memory holds an array; `number` is the number of the device.
struct MemoryPlace {
  MemorySpace space = MemorySpace::kHost;
  int number = 0;
  friend bool operator==(const MemoryPlace&, const MemoryPlace&) = default;
};

/// Does not own its memory, which must outlive it; trivially copyable. Byte is std::byte, or const
/// std::byte for an array that is only read.
template <class Byte>
class BasicTensorView {
 public:
  static constexpr std::size_t kMaxRank = 8;

  /// An array without elements, of shape (0,).
  BasicTensorView() : BasicTensorView(nullptr, DType::kBool, std::array{Index{0}}) {}
  /// An array in C order without gaps. Throws Error(kShape) for more than kMaxRank axes.
  BasicTensorView(Byte* data, DType dtype, std::span<const Index> shape, MemoryPlace place = {});
  /// An array with the given strides in elements, which may be zero or negative.
  BasicTensorView(Byte* data, DType dtype, std::span<const Index> shape,
                  std::span<const Index> strides, MemoryPlace place = {});
  /// The whole tensor, which must neither move nor change its shape while the view is used.
  BasicTensorView(std::conditional_t<std::is_const_v<Byte>, const Tensor, Tensor>& tensor)
      : BasicTensorView(tensor.bytes().data(), tensor.dtype(), tensor.shape()) {}
  BasicTensorView(const Tensor&&) = delete;
  /// A writable view converts to a read-only one.
  operator BasicTensorView<const Byte>() const requires(!std::is_const_v<Byte>) {
    return {data_, dtype_, shape(), strides(), place_};
  }

  Byte* data() const { return data_; }
  DType dtype() const { return dtype_; }
  MemoryPlace place() const { return place_; }
  Index rank() const { return rank_; }
  std::span<const Index> shape() const { return {shape_.data(), as_size(rank_)}; }
  std::span<const Index> strides() const { return {strides_.data(), as_size(rank_)}; }
  Index extent(Index axis) const { return shape_[as_size(axis)]; }
  Index stride(Index axis) const { return strides_[as_size(axis)]; }
  Index elements() const { return elements_; }
  /// True if the elements are in C order without gaps; the strides of axes of length 1 do not
  /// matter.
  bool is_contiguous() const { return contiguous_; }

  /// The elements as T, whose size must be that of an element. Throws Error(kUnsupported) unless
  /// they are contiguous and on the host.
  template <class T, class Element = std::conditional_t<std::is_const_v<Byte>, const T, T>>
  std::span<Element> as() const {
    if (place_.space != MemorySpace::kHost || !contiguous_) refuse_reading();
    return {reinterpret_cast<Element*>(data_), as_size(elements_)};
  }

 private:
  void set_shape(std::span<const Index> shape);
  [[noreturn]] void refuse_reading() const;

  Byte* data_;
  DType dtype_;
  MemoryPlace place_;
  bool contiguous_ = true;
  Index rank_ = 0, elements_ = 1;
  std::array<Index, kMaxRank> shape_{}, strides_{};
};

using TensorView = BasicTensorView<const std::byte>;
using MutableTensorView = BasicTensorView<std::byte>;

static_assert(std::is_trivially_copyable_v<TensorView>);

extern template class BasicTensorView<const std::byte>;
extern template class BasicTensorView<std::byte>;

/// A view of the array; nothing for a null pointer.
inline std::optional<TensorView> view_of(const Tensor* tensor) {
  return tensor ? std::optional<TensorView>(*tensor) : std::nullopt;
}

}  // namespace maskctl
