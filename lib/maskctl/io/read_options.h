// Limits and choices for reading arrays.
#pragma once

#include "maskctl/base/index.h"

namespace maskctl {

struct ReadOptions {
  /// No array larger than this is allocated, in bytes.
  Index max_bytes = Index{4} << 30;
  /// What is otherwise a note (bytes after the data) becomes an Error.
  bool strict = false;
};

}  // namespace maskctl
