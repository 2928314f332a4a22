// Keeps track of the paths that a write replaces. Each path stands for its object and all objects
// below it.
#pragma once

#include <string>
#include <vector>

#include "app/hdf5/library.h"

namespace maskctl::hdf5 {

/// True if the link and all groups on its path exist. The link itself may be broken.
bool has_link(hid_t file, const std::string& path);
/// The path with single slashes and without ".", as the library takes it; "" is the root.
std::string plain_path(const std::string& path);

class TakenPaths {
 public:
  explicit TakenPaths(hid_t file) : file_(file) {}

  /// Declares that the write replaces this path. The root is never taken, because each array in it
  /// stands for itself. Throws Failure(exists) if the path exists and `replace` is not set.
  void take(const std::string& path, bool replace);
  /// Prepares to write an array: unlinks old groups on its path that have a second name, so that
  /// they keep their old arrays under that name, and counts the array as written. Throws
  /// Failure(io) if an array has the name of one of the groups.
  void clear_way(const std::string& path);
  /// Removes all objects below the taken paths that were not written.
  void drop_rest();

 private:
  bool is_taken(const std::string& path) const;
  bool is_written(const std::string& path) const;
  bool leads_to_written(const std::string& path) const;
  void drop_rest_of(const std::string& path);

  hid_t file_;
  std::vector<std::string> taken_, written_;  // plain paths
};

}  // namespace maskctl::hdf5
