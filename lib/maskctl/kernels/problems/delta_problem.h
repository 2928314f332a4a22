// The gated delta rule: the checked problem that kernels receive.
#pragma once

#include "maskctl/kernels/problems/delta_arrays.h"
#include "maskctl/kernels/problems/linear_problem.h"

namespace maskctl::attention {

/// A DeltaArrays that holds f(array) for every array of `x`.
template <class Arrays, class F>
auto map_delta_arrays(Arrays& x, F&& f) {
  return DeltaArrays<decltype(f(x.query)), decltype(f(x.g))>{
      f(x.query), f(x.key), f(x.value), f(x.beta), f(x.g), f(x.initial_state)};
}

/// query and key are [B,T,kv_heads,K]; value [B,T,heads,V]; beta and g [B,T,heads]. The states are
/// those of `heads`, of which each reads the query and key of kv_head().
struct DeltaProblem : DeltaArrays<TensorView> {
  LinearDims d;
};

/// Gradients, with the shapes and dtypes of the inputs; only of arrays that the problem has.
using DeltaGradientOutputs = DeltaArrays<MutableTensorView>;

}  // namespace maskctl::attention
