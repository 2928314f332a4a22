// Access to an array of any strides line by line, along its last axis.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "maskctl/tensor/tensor_view.h"

namespace maskctl {

/// A line is the elements along the last axis at one position of the other axes. Lines are numbered
/// in C order of those axes; an array of rank 0 is one line of one element. The memory must be on
/// the host and outlive this object.
class Lines {
 public:
  using Buffer = std::vector<std::byte>;

  explicit Lines(const TensorView& view);

  Index count() const { return count_; }
  Index length() const { return length_; }
  /// The elements `columns` of a line: in place if they are contiguous, otherwise copied to
  /// `buffer`.
  std::span<const std::byte> read(Index line, Range columns, Buffer& buffer) const;

 private:
  TensorView view_;
  Index count_ = 1, length_ = 1, stride_ = 1;
};

/// A copy of the elements in C order.
Tensor copy_of(const TensorView& view);

}  // namespace maskctl
