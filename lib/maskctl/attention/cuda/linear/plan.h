// The sequences of a call of the linear family, and the intervals they fall into, on the GPU.
#pragma once

#include "maskctl/attention/cuda/device.h"
#include "maskctl/attention/problems/linear_problem.h"

namespace maskctl::attention::cuda {

/// The tokens of an interval are a multiple of this.
inline constexpr Index kLeastInterval = 64;

/// Tokens of one sequence, in order of time.
struct LinearRun {
  Index first = 0;  // token of time 0, among all of the batch
  Index length = 0;
  Index first_interval = 0;  // among the intervals of all sequences
  Index first_boundary = 0;  // among the boundaries between intervals
};

/// Tokens of a sequence whose gradients of gates start from one kept state.
struct LinearInterval {
  Index sequence = 0;
  Range times;
};

/// What the kernels read of a problem beside its arrays.
struct LinearPlan {
  LinearPlan(const LinearProblem& problem, Stream stream);

  Index sequences = 0, intervals = 0, boundaries = 0;
  Index longest = 0;      // tokens of the longest sequence
  Index interval_tokens;  // tokens of each interval but a sequence's last
  Index token_step;       // from one time to the next: 1, or -1 in reverse
  bool covers_tokens;
  DeviceArray<LinearRun> runs;
  DeviceArray<LinearInterval> interval_list;
};

}  // namespace maskctl::attention::cuda
