// An n-dimensional array that owns its elements.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "maskctl/base/buffer_pool.h"
#include "maskctl/base/index.h"
#include "maskctl/tensor/dtype.h"

namespace maskctl {

/// Elements are in C order and native byte order, 64-byte aligned; copies are deep. A bool element
/// is a byte, and any nonzero byte is true. f16 and bf16 are stored as their 16 bits.
class Tensor {
 public:
  Tensor() : Tensor(DType::kBool, {0}) {}
  /// Filled with zeros. Throws Error(kShape) when the size in bytes does not fit an Index.
  Tensor(DType dtype, std::vector<Index> shape);
  /// A tensor of uninitialised elements, for callers that write all of them.
  static Tensor unwritten(DType dtype, std::vector<Index> shape);
  // The copy and move operations and the destructor are in the source file: inlined into code that
  // is compiled at -O1, they would free the elements in a loop.
  Tensor(const Tensor&);
  Tensor(Tensor&&) noexcept;
  Tensor& operator=(const Tensor&);
  Tensor& operator=(Tensor&&) noexcept;
  ~Tensor();

  DType dtype() const { return dtype_; }
  const std::vector<Index>& shape() const { return shape_; }
  Index rank() const { return static_cast<Index>(shape_.size()); }
  Index extent(Index axis) const { return shape_[static_cast<std::size_t>(axis)]; }
  Index elements() const { return elements_; }
  std::span<std::byte> bytes() { return data_; }
  std::span<const std::byte> bytes() const { return data_; }

  /// The elements as T, whose size must be that of an element.
  template <typename T>
  std::span<T> as() {
    return {reinterpret_cast<T*>(data_.data()), data_.size() / sizeof(T)};
  }
  template <typename T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(data_.data()), data_.size() / sizeof(T)};
  }

  /// Changes the shape and keeps the elements. Throws Error(kShape) unless the number of elements
  /// stays the same.
  void reshape(std::vector<Index> shape);

 private:
  struct Unwritten {};
  Tensor(DType dtype, std::vector<Index> shape, Unwritten);

  DType dtype_;
  std::vector<Index> shape_;
  Index elements_ = 0;
  std::vector<std::byte, UnwrittenAllocator<std::byte>> data_;
};

/// True if dtype, shape and bytes are equal.
bool same_elements(const Tensor& a, const Tensor& b);

/// The shape as Python prints it: "(2, 3)", "(4,)" for rank 1, "()" for rank 0.
std::string shape_text(std::span<const Index> shape);

}  // namespace maskctl
