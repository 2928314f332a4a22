// Adds arrays to an existing file.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "maskctl/base/atomic_file.h"
#include "maskctl/io/formats/formats.h"

namespace maskctl {

/// Locks the file if options.append is set, else returns null. The lock must be held until the new
/// file is in place: otherwise two processes could both start from the same old file, and the
/// arrays of one of them would be lost.
std::unique_ptr<ReplaceLock> lock_for_append(const std::string& path, const WriteOptions& options);

/// Opens the old file, whose arrays are kept; nothing if options.append is not set or there is no
/// file. Throws Error for a pipe and for a file of another format.
std::optional<ByteSource> file_to_append(const std::string& path, const FileFormat& format,
                                         const WriteOptions& options);

/// Throws Error(kIo) that names the array if the file already has an array called `name` (`has`
/// lists them), unless options.force is set.
void check_new(const std::string& path, const std::vector<std::string>& has,
               const std::string& name, const WriteOptions& options);

}  // namespace maskctl
