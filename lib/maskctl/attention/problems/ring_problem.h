// One rank's share of ring attention, checked, for kernels that run the whole ring themselves.
#pragma once

#include <optional>

#include "maskctl/tensor/tensor_view.h"

namespace maskctl::attention {

class Communicator;  // ring/communicator.h
class RingShard;     // ring/shard.h

struct RingProblem {
  Communicator* ring = nullptr;
  const RingShard* shard = nullptr;
  TensorView query, key, value;     // the parts that this rank has
  std::optional<TensorView> sinks;  // the sinks of all heads
};

}  // namespace maskctl::attention
