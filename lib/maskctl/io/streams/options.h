// Limits and choices for reading and writing arrays.
#pragma once

#include "maskctl/base/index.h"

namespace maskctl {

struct ReadOptions {
  /// The most bytes that a single array may take.
  Index max_bytes = Index{4} << 30;
  /// Turns what is otherwise a note (bytes after the data) into an Error.
  bool strict = false;
};

struct WriteOptions {
  bool force = false;   // replace an existing file, or with append an existing array
  bool append = false;  // keep the other arrays of an existing container
  int gzip = 0;         // compression level 1 to 9 for HDF5 and .npz; 0: none
};

}  // namespace maskctl
