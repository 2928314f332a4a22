// Gradients of the gates of one axis.
#pragma once

#include "maskctl/attention/cuda/linear/arrays.h"
#include "maskctl/attention/cuda/linear/plan.h"

namespace maskctl::attention::cuda {

// The gradient of a channel's log decay is the product of the state, just after the decay, and the
// state's gradient, summed over the other axis. From one token back to the one before, this sum
// grows by the token's backward row times `before` of the walk forwards, less its forward row times
// `before` of the walk backwards. What a token reads of its own write is in neither: it would
// cancel except for its rounding error, which no decay makes smaller. Each interval starts the sum
// anew from the states.
struct LinearGateGradients {
  LinearAxis axis;
  LinearHeadGates head_gates;
  Index slices = 1, heads = 0, tokens = 0;
  const float *before_forwards = nullptr,
              *before_backwards = nullptr;  // [slices,tokens,heads,width]
  const float* products = nullptr;          // LinearWalk::products of the walk backwards
  bool has_last = false;  // whether `products` has last intervals of sequences; else theirs are 0
  AnyResult gates[2];     // gradients of axis.gates
  /// Sums over the channels in parts() parts: [parts, tokens, heads]; null: not wanted.
  double* head_parts = nullptr;

  Index parts() const { return ceil_div(axis.width, 32); }
};

void find_gates(Workspace& workspace, const LinearPlan& plan, const LinearGateGradients& gradients);

/// Adds up head_parts over the parts, for each token and head (gates of tokens), and over the
/// tokens too, for each head.
struct LinearHeadSums {
  const double* parts = nullptr;
  Index count = 0, tokens = 0, heads = 0;
  AnyResult of_tokens, of_heads;
};

void add_up(Workspace& workspace, const LinearHeadSums& sums);

}  // namespace maskctl::attention::cuda
