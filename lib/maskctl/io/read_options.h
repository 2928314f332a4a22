// Limits and choices for reading arrays.
#pragma once

#include "maskctl/base/index.h"

namespace maskctl {

struct ReadOptions {
  /// No array larger than this is allocated, in bytes.
  Index max_bytes = Index{4} << 30;
  /// What is otherwise a note (bytes after the data) becomes an Error.
  bool strict = false;
  /// Two-byte void elements (`|V2`, how numpy stores ml_dtypes' bfloat16) are bfloat16.
  bool as_bf16 = false;
};

}  // namespace maskctl
