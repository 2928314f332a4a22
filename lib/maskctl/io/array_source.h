// Arrays that are read by parts.
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

/// A SOURCE whose header has been read. Parts of .npy, safetensors and contiguous HDF5 arrays are
/// read in place; in compressed, chunked and piped arrays, everything up to the part's end is read,
/// and what is not wanted is dropped. In Fortran order the whole is read.
class ArraySource {
 public:
  /// Throws what read_array throws about a header; notes are appended.
  explicit ArraySource(const std::string& source, const ReadOptions& options = {},
                       std::vector<std::string>* notes = nullptr);
  ~ArraySource();
  ArraySource(ArraySource&&) noexcept;
  ArraySource& operator=(ArraySource&&) noexcept;

  DType dtype() const;
  const std::vector<Index>& shape() const;
  /// The bytes of one element in the file; nothing for arrays that are compressed, chunked or
  /// piped. `index` is inside the shape.
  std::optional<Range> bytes_of(std::span<const Index> index) const;
  /// Call it once. Throws Error(kLimit) when the part exceeds options.max_bytes.
  Tensor read(const ArrayPlace& place);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace maskctl
