// Arrays with names, as containers hold them.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
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

/// The name, type and shape of an array whose elements follow.
struct ArraySpec {
  std::string name;
  DType dtype = DType::kBool;
  std::vector<Index> shape;
};

using WriteBytes = std::function<void(std::span<const std::byte>)>;

/// An array whose elements come in pieces when they are asked for, so that nobody holds them all.
struct ArrayStream {
  ArraySpec spec;
  /// Calls `write` with all elements, in C order and native byte order; each call starts over. An
  /// .npz that is not compressed asks twice.
  std::function<void(const WriteBytes& write)> give;
};
/// The arrays must outlive them.
std::vector<ArrayStream> streams_of(std::span<const ArrayRef> arrays);

}  // namespace maskctl
