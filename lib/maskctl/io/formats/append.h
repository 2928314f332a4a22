// Adds arrays to an existing file, and keeps writers of one file apart.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/base/atomic_file.h"
#include "maskctl/io/formats/formats.h"

namespace maskctl {

/// Locks the file of a container; returns null for pipes and devices. The lock must be held until
/// the new file is in place: otherwise two processes could both start from the same old file, and
/// the arrays of one of them would be lost. Writes of a whole file hold it too, so that arrays
/// which are added meanwhile are added to the new file.
std::unique_ptr<ReplaceLock> lock_for_write(const std::string& path);

/// Opens the old file, whose arrays are kept; nothing if options.append is not set or there is no
/// file. Throws Error for a pipe and for a file of another format.
std::optional<ByteSource> file_to_append(const std::string& path, const FileFormat& format,
                                         const WriteOptions& options);

/// The names that a write replaces in an old file. Each stands for the array of this name and for
/// all arrays below it: "a" for "a", "a/q" and "a/kv", which are read back as one SOURCE.
class TakenNames {
 public:
  /// `name` is that of the DEST; where it is empty, each array takes its own name.
  TakenNames(const std::string& name, std::span<const ArrayStream> arrays);
  /// The name of one array.
  explicit TakenNames(const std::string& name) : names_{name} {}

  bool contains(std::string_view key) const;
  /// Throws Error(kIo) that names the first of the keys `has` that is taken, unless options.force
  /// is set.
  void check_new(const std::string& path, const std::vector<std::string>& has,
                 const WriteOptions& options) const;

 private:
  std::vector<std::string> names_;
};

}  // namespace maskctl
