// The names that a write replaces: each stands for the object of this path and all below it.
#pragma once

#include <string>
#include <vector>

#include "app/hdf5/library.h"

namespace maskctl::hdf5 {

/// True if the link is there and all groups on its path; it may lead nowhere.
bool has_link(hid_t file, const std::string& path);
/// The path with single slashes and without ".", as the library takes it; "" is the root.
std::string plain_path(const std::string& path);

class TakenPaths {
 public:
  explicit TakenPaths(hid_t file) : file_(file) {}

  /// Takes a path; none of the root, where each array stands for itself. Throws Failure(exists) if
  /// there is anything, unless `replace` is set.
  void take(const std::string& path, bool replace);
  /// Makes room for the groups on the way to an array, which counts as written from now on. A group
  /// below a taken path that has another name too is left to that name. Throws Failure(io) if an
  /// array stands in the way.
  void clear_way(const std::string& path);
  /// Removes what is below the taken paths and was not written.
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
