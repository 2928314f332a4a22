// Arrays with names, as containers hold them.
#pragma once

#include <string>
#include <vector>

#include "maskctl/tensor/tensor.h"

namespace maskctl {

struct NamedTensor {
  std::string name;  // the key: without ".npy"
  Tensor tensor;
};

/// Like NamedTensor, but does not own the array.
struct ArrayRef {
  std::string name;
  const Tensor* tensor;
};

/// An array whose elements follow.
struct ArraySpec {
  std::string name;
  DType dtype = DType::kBool;
  std::vector<Index> shape;
};

}  // namespace maskctl
