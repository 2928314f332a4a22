// Limits and options for reading and writing arrays.
#pragma once

#include "maskctl/base/index.h"

namespace maskctl {

struct ReadOptions {
  /// The most bytes that one array may take.
  Index max_bytes = Index{4} << 30;
  /// True makes an Error of what is otherwise a note, such as bytes after the data.
  bool strict = false;
};

struct WriteOptions {
  bool force = false;   // replace an existing file; with append, an existing array
  bool append = false;  // keep the other arrays of an existing container
  int gzip = 0;         // compression level 1 to 9 for HDF5 and .npz; 0: none
};

}  // namespace maskctl
