// Writing arrays into new and existing containers.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "maskctl/base/atomic_file.h"
#include "maskctl/io/array_io.h"
#include "maskctl/io/formats/safetensors/safetensors.h"

namespace maskctl {

/// Writes all arrays to the container at `dest.path`, a path or "-". With options.append the arrays
/// of an existing file of the same format stay; a name that exists already is an Error, or is
/// replaced with options.force.
void write_container(const DestName& dest, std::span<const ArrayRef> arrays,
                     const WriteOptions& options);

/// A lock to hold until the new file is in place, so that two processes that append at once do not
/// both start from the same old file; null when nothing is appended.
std::unique_ptr<ReplaceLock> lock_for_append(const std::string& path, const WriteOptions& options);

/// A safetensors file with one new tensor whose data follows part by part.
class SafetensorsWriter {
 public:
  SafetensorsWriter(const std::string& path, std::span<const SafetensorsSpec> tensors,
                    const WriteOptions& options);
  /// The data of the new tensor, in native byte order.
  void write(std::span<const std::byte> bytes) { sink_->write(bytes); }
  void commit() { sink_->commit(); }

 private:
  std::unique_ptr<ReplaceLock> lock_;  // when appending
  std::unique_ptr<ByteSink> sink_;
};

}  // namespace maskctl
