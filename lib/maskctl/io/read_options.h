// Limits and choices for reading arrays.
#pragma once

#include "maskctl/base/index.h"

namespace maskctl {

struct ReadOptions {
  /// The most bytes that a single array may take.
  Index max_bytes = Index{4} << 30;
  /// Turns what is otherwise a note (bytes after the data) into an Error.
  bool strict = false;
};

}  // namespace maskctl
