// One rank's part of ring attention, checked, as kernels for whole rings take it.
#pragma once

#include <optional>

#include "maskctl/tensor/tensor_view.h"

namespace maskctl::attention {

class Communicator;  // ring/communicator.h
class RingShard;     // ring/shard.h

struct RingProblem {
  Communicator* ring = nullptr;
  const RingShard* shard = nullptr;
  TensorView query, key, value;     // the rank's own
  std::optional<TensorView> sinks;  // of all heads
};

}  // namespace maskctl::attention
