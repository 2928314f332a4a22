// Writes one array part by part.
#pragma once

#include <cstddef>
#include <span>

#include "maskctl/base/index.h"
#include "maskctl/io/streams/named_arrays.h"

namespace maskctl {

/// The interface of all array writers; array_writer() in array_io.h makes them.
class ArrayWriter {
 public:
  /// Throws Error(kShape) when the size of the array in bytes overflows.
  explicit ArrayWriter(const ArraySpec& array);
  virtual ~ArrayWriter() = default;
  /// Writes the next elements, in C order and native byte order.
  void write(std::span<const std::byte> bytes);
  /// Puts the file in place. commit() throws Error(kInvalidArgument) if fewer bytes were written
  /// than the shape needs, write() if more.
  void commit();

 private:
  virtual void put(std::span<const std::byte> bytes) = 0;
  virtual void finish() = 0;

  Index remaining_;  // bytes not written yet
};

}  // namespace maskctl
