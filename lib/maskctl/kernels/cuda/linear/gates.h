// Gradients of the gates of linear attention, for one axis of the states.
#pragma once

#include "maskctl/kernels/cuda/linear/arrays.h"
#include "maskctl/kernels/cuda/linear/plan.h"

namespace maskctl::attention::cuda {

// The gradient of a channel's log decay is (decayed state) * (gradient of the state), summed over
// the other axis. From the last token back, each token adds
//   backward row * before_forwards - forward row * before_backwards
// to this sum. `before` leaves out what a token reads of its own write: in the difference it would
// cancel except for rounding errors. Each interval starts with `products`, computed from the
// states.
struct LinearGateGradients {
  LinearAxis axis;
  LinearHeadGates head_gates;
  Index slices = 1, heads = 0, tokens = 0;
  const float *before_forwards = nullptr,
              *before_backwards = nullptr;  // [slices,tokens,heads,width]
  const float* products = nullptr;          // LinearWalk::products of the walk backwards
  bool has_last = false;  // whether `products` has the last interval of each sequence
  AnyResult gates[2];     // gradients of axis.gates
  /// Result: gradients summed over each 32 channels, [parts(), tokens, heads]; null: not wanted.
  double* head_parts = nullptr;

  Index parts() const { return ceil_div(axis.width, 32); }
};

void find_gates(Workspace& workspace, const LinearPlan& plan, const LinearGateGradients& gradients);

/// Adds up LinearGateGradients::head_parts: of_tokens gets the sum over the parts for each token
/// and head, of_heads the sum over parts and tokens for each head.
struct LinearHeadSums {
  const double* parts = nullptr;
  Index count = 0, tokens = 0, heads = 0;
  AnyResult of_tokens, of_heads;
};

void add_up(Workspace& workspace, const LinearHeadSums& sums);

}  // namespace maskctl::attention::cuda
