// Where kernels put the gradients of the keys and values of a KeyTile.
#pragma once

#include "maskctl/attention/cuda/elements.h"

namespace maskctl::attention::cuda {

/// Where the gradients of keys and values are written. A KeyTile with a slot holds only some of the
/// readers of its keys: its sums go to row `slot` of `partial`, to be added up later.
struct KeySums {
  AnyResult d_key, d_value;  // [B,T,Hkv,D], [B,T,Hkv,Dv]
  float* partial;            // [slots,kTileKeys,D + Dv]
};

}  // namespace maskctl::attention::cuda
