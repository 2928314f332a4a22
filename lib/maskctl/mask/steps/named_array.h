// Types that the arguments of several rules use: arrays with a name, and the alignment of
// diagonals.
#pragma once

#include <cstdint>
#include <string>

#include "maskctl/tensor/tensor.h"

namespace maskctl {

/// Where the diagonal of a non-square mask lies. kTopLeft: query i is aligned with key i;
/// kBottomRight: with key i + K - Q. kUnset is an error when Q != K.
enum class Align : std::uint8_t { kUnset, kTopLeft, kBottomRight };

/// An array and the text that gave it (a SOURCE, or a list such as "3+5"), with which it is
/// printed.
struct NamedArray {
  Tensor array;
  std::string text;
  bool empty() const { return array.elements() == 0; }
  friend bool operator==(const NamedArray& a, const NamedArray& b);
};

}  // namespace maskctl
