// The arrays of the linear family as its kernels take them, and the parts that calls fall into.
#pragma once

#include "maskctl/attention/cuda/device.h"
#include "maskctl/attention/cuda/elements.h"
#include "maskctl/attention/operations/linear/linear_problem.h"

namespace maskctl::attention::cuda {

/// Rows [tokens, heads, width]: query head h has those of head h / group. Without data: an array
/// that there is not.
struct LinearRows {
  AnyArray array;
  Index heads = 1, group = 1, width = 1;

  constexpr bool any() const { return array.data != nullptr; }
};

/// The keys or the values: one of the two axes of the states [K,V].
///   h_t = decay_t * h_(t-1) + forward_t of the keys * forward_t of the values
/// so forward are the keys and values themselves. The gradients of the states follow the same rule
/// from the last token to the first, with `backward`: the queries, and the gradient of the output.
struct LinearAxis {
  LinearRows forward, backward;
  LinearRows gates[2];  // logarithms of decays of each channel, which add up
  Index width = 0;
  Index stride = 0;  // of the states
};

/// Logarithms of decays of all channels of a head, which add up.
struct LinearHeadGates {
  LinearRows of_tokens;  // [tokens, heads, 1]
  LinearRows of_heads;   // [1, heads, 1]
};

/// Tokens of one sequence, in order of time.
struct LinearRun {
  Index first = 0;  // token of time 0, among all of the batch
  Index length = 0;
  Index first_interval = 0;  // among those of all sequences
  Index first_boundary = 0;  // between two intervals of a sequence
};

/// Tokens of a sequence that are undone from one state that was kept.
struct LinearInterval {
  Index sequence = 0;
  Range times;
};

/// What the kernels read of a problem beside its arrays.
struct LinearPlan {
  LinearPlan(const LinearProblem& problem, Stream stream);

  Index sequences = 0, intervals = 0, boundaries = 0;
  Index longest = 0;      // sequence
  Index interval_tokens;  // of each but the last of a sequence
  Index token_step;       // from one time to the next: 1, or -1 in reverse
  bool covers_tokens;
  DeviceArray<LinearRun> runs;
  DeviceArray<LinearInterval> interval_list;
};

}  // namespace maskctl::attention::cuda
