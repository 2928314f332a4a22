// Limits and options for reading and writing arrays.
#pragma once

#include "maskctl/base/index.h"

namespace maskctl {

struct ReadOptions {
  /// The most bytes that one array may take.
  Index max_bytes = Index{4} << 30;
  /// True makes an Error of what is otherwise a note, such as bytes after the data.
  bool strict = false;

  friend bool operator==(const ReadOptions&, const ReadOptions&) = default;
};

struct WriteOptions {
  /// Replace the array that a DEST names, and nothing else; where it names none, the file.
  bool force = false;
  /// Keep the arrays of an existing container that `force` does not replace. Always so where a DEST
  /// names an array, as in "m.npz:KEY".
  bool append = false;
  /// Replace the whole file, even where a DEST names an array.
  bool replace_file = false;
  int gzip = 0;  // compression level 1 to 9 for HDF5 and .npz; 0: none
};

}  // namespace maskctl
