// What the runtime has to know of an operation beside its functions.
#pragma once

#include <cstddef>
#include <string_view>

#include "maskctl/tensor/tensor.h"

namespace maskctl::attention {

struct OpInfo {
  std::string_view id;          // of keys and labels
  std::string_view algorithm;   // of the registry
  std::string_view cache_name;  // file of the persistent cache
  std::string_view version = "0";
  bool tunes = true;          // false: always heuristics, as the seed's sdpa and attention
  bool tune_backward = true;  // measured forward and backward together
  std::string_view splittable = "b h u";  // axes that the sharded form can split (sharded/plan.h)
  /// Axes that the operation splits itself, by a ring of the devices along them.
  std::string_view collective = "";
  std::size_t least_specs = 3;
  std::size_t out_specs = 1;
};

/// Gradients of what is differentiated; null where no gradient flows in.
struct Cotangents {
  const Tensor* out = nullptr;
  const Tensor* lse = nullptr;
  const Tensor* final_state = nullptr;
};

/// Of operations that have no backward pass.
struct NoGradients {};

}  // namespace maskctl::attention
