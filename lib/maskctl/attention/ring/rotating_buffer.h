// An array that goes round a ring.
#pragma once

#include <utility>

#include "maskctl/attention/ring/communicator.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::attention {

/// `held` moves to the next rank between start() and arrive(), with ring.finish() before the
/// latter; meanwhile it may be read.
struct RotatingBuffer {
  explicit RotatingBuffer(Tensor first)
      : held(std::move(first)), next(held.dtype(), held.shape()) {}
  void start(Communicator& ring) { ring.start(held.bytes(), next.bytes()); }
  void arrive() { std::swap(held, next); }

  Tensor held, next;
};

}  // namespace maskctl::attention
