// One array on its way out, part by part.
#pragma once

#include <cstddef>
#include <span>

#include "maskctl/base/index.h"
#include "maskctl/io/streams/named_arrays.h"

namespace maskctl {

/// Made by array_writer() of array_io.h.
class ArrayWriter {
 public:
  /// Throws Error(kShape) when the size of the array cannot be counted.
  explicit ArrayWriter(const ArraySpec& array);
  virtual ~ArrayWriter() = default;
  /// The next elements in C order, native byte order.
  void write(std::span<const std::byte> bytes);
  /// Makes the file visible. This and write() throw Error(kInvalidArgument) when fewer or more
  /// bytes were written than the shape needs.
  void commit();

 private:
  virtual void put(std::span<const std::byte> bytes) = 0;
  virtual void finish() = 0;

  Index remaining_;  // bytes that are still to be written
};

}  // namespace maskctl
