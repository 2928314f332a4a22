// Reads parts of arrays without reading the whole.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "maskctl/base/index.h"
#include "maskctl/io/streams/options.h"
#include "maskctl/tensor/dtype.h"
#include "maskctl/tensor/place.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl {

/// A SOURCE whose header has been read. A part of a .npy, safetensors or contiguous HDF5 array is
/// read directly. In compressed, chunked and piped arrays, everything up to the end of the part is
/// read and the rest discarded. An array in Fortran order is read whole.
class ArraySource {
 public:
  /// Reads the header. Throws like read_array; notes are appended to `notes`.
  explicit ArraySource(const std::string& source, const ReadOptions& options = {},
                       std::vector<std::string>* notes = nullptr);
  ~ArraySource();
  ArraySource(ArraySource&&) noexcept;
  ArraySource& operator=(ArraySource&&) noexcept;

  DType dtype() const;
  const std::vector<Index>& shape() const;
  /// Which bytes of the file hold the element at `index`, which must be inside the shape. Nothing
  /// for arrays that are compressed, chunked or piped.
  std::optional<Range> bytes_of(std::span<const Index> index) const;
  /// Reads a part of the array. Call it only once. Throws Error(kLimit) when the part exceeds
  /// options.max_bytes.
  Tensor read(const ArrayPlace& place);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace maskctl
