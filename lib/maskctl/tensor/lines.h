// The lines of an array along its last axis, wherever their elements lie.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "maskctl/tensor/tensor_view.h"

namespace maskctl {

/// Lines are numbered in C order of the other axes; an array without axes is one line of one
/// element. The memory must be of the host and outlive this.
class Lines {
 public:
  using Buffer = std::vector<std::byte>;

  explicit Lines(const TensorView& view);

  Index count() const { return count_; }
  Index length() const { return length_; }
  /// The elements of `columns` in a line: in place if they are contiguous, else copied to `buffer`.
  std::span<const std::byte> read(Index line, Range columns, Buffer& buffer) const;

 private:
  TensorView view_;
  Index count_ = 1, length_ = 1, stride_ = 1;
};

/// A copy in C order.
Tensor copy_of(const TensorView& view);

}  // namespace maskctl
