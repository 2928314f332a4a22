// Adding arrays to a file that exists.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "maskctl/base/atomic_file.h"
#include "maskctl/io/formats/formats.h"

namespace maskctl {

/// A lock to hold until the new file is in place, so that two processes that append at once do not
/// both start from the same old file; null when nothing is appended.
std::unique_ptr<ReplaceLock> lock_for_append(const std::string& path, const WriteOptions& options);

/// The file whose arrays stay; nothing when nothing is appended or there is no file. Throws Error
/// for a pipe and a file of another format.
std::optional<ByteSource> file_to_append(const std::string& path, const FileFormat& format,
                                         const WriteOptions& options);

/// Throws Error(kIo) if `name` is among the arrays that the file has, unless options.force is set.
void check_new(const std::string& path, const std::vector<std::string>& has,
               const std::string& name, const WriteOptions& options);

}  // namespace maskctl
