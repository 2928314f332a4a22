// Results in the requested dtype.
#pragma once

#include <utility>

#include "maskctl/tensor/convert.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::attention {

/// As astype, without a copy where the dtype is right already.
inline Tensor rounded(Tensor&& tensor, DType dtype) {
  return tensor.dtype() == dtype ? std::move(tensor) : astype(tensor, dtype);
}

}  // namespace maskctl::attention
