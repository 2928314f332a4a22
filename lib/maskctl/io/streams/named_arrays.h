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
  std::string name;  // the key in a container, without ".npy"
  Tensor tensor;
};

/// Like NamedTensor, but refers to an array that somebody else owns.
struct ArrayRef {
  std::string name;
  const Tensor* tensor;
};

/// The name, dtype and shape of an array, without its elements.
struct ArraySpec {
  std::string name;
  DType dtype = DType::kBool;
  std::vector<Index> shape;
};

using WriteBytes = std::function<void(std::span<const std::byte>)>;

/// An array whose elements are produced in pieces when they are needed, so that the whole need not
/// be in memory.
struct ArrayStream {
  ArraySpec spec;
  /// Calls `write` with all elements, piece by piece, in C order and native byte order. May be
  /// called again and then starts from the beginning: an .npz without compression is produced
  /// twice.
  std::function<void(const WriteBytes& write)> give;
};
/// Streams of the elements of these arrays, which must outlive the streams.
std::vector<ArrayStream> streams_of(std::span<const ArrayRef> arrays);

}  // namespace maskctl
