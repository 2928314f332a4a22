// The sequences of a call of the linear family, and the intervals they fall into, on the GPU.
#pragma once

#include "maskctl/attention/cuda/device.h"
#include "maskctl/attention/operations/linear/linear_problem.h"

namespace maskctl::attention::cuda {

/// Intervals have a multiple of it.
inline constexpr Index kLeastInterval = 64;

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
