// An array that somebody else owns: where its elements are, and how they are laid out.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

#include "maskctl/tensor/tensor.h"

namespace maskctl {

enum class MemorySpace : std::uint8_t { kHost, kDevice };

/// Where memory is; `number` is the device's.
struct MemoryPlace {
  MemorySpace space = MemorySpace::kHost;
  int number = 0;
  friend bool operator==(const MemoryPlace&, const MemoryPlace&) = default;
};

/// Trivially copyable; the memory must outlive it. Byte is std::byte, or const std::byte for an
/// array that is only read.
template <class Byte>
class BasicTensorView {
 public:
  static constexpr std::size_t kMaxRank = 8;

  /// No elements: shape (0,).
  BasicTensorView() : BasicTensorView(nullptr, DType::kBool, std::array{Index{0}}) {}
  /// C order without gaps. Throws Error(kShape) for more than kMaxRank axes.
  BasicTensorView(Byte* data, DType dtype, std::span<const Index> shape, MemoryPlace place = {});
  /// Strides are in elements, and may be 0 or below.
  BasicTensorView(Byte* data, DType dtype, std::span<const Index> shape,
                  std::span<const Index> strides, MemoryPlace place = {});
  /// All of a tensor, which must stay as it is.
  BasicTensorView(std::conditional_t<std::is_const_v<Byte>, const Tensor, Tensor>& tensor)
      : BasicTensorView(tensor.bytes().data(), tensor.dtype(), tensor.shape()) {}
  BasicTensorView(const Tensor&&) = delete;
  /// A writable view converts to one that is only read.
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
  /// C order without gaps; strides along axes of one element do not matter.
  bool is_contiguous() const { return contiguous_; }

  /// The elements as T; sizeof(T) must be the element size. Throws Error(kUnsupported) unless they
  /// are contiguous and on the host.
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

/// Nothing for an array that is left out.
inline std::optional<TensorView> view_of(const Tensor* tensor) {
  return tensor ? std::optional<TensorView>(*tensor) : std::nullopt;
}

}  // namespace maskctl
