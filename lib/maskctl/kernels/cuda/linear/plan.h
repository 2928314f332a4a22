// The sequences of a call of linear attention, and their division into intervals, on the GPU.
#pragma once

#include "maskctl/attention/cuda/device.h"
#include "maskctl/kernels/problems/linear_problem.h"

namespace maskctl::attention::cuda {

/// Intervals have a multiple of this many tokens, except the last one of a sequence.
inline constexpr Index kLeastInterval = 64;

/// The tokens of one sequence, numbered in the order of time.
struct LinearRun {
  Index first = 0;  // index in the batch of the token at time 0
  Index length = 0;
  Index first_interval = 0;  // index of its first interval in LinearPlan::interval_list
  Index first_boundary = 0;  // number of interval boundaries in the sequences before
  Index first_chunk = 0;     // number of chunks of kLeastInterval tokens in the sequences before
};

/// A range of tokens of a sequence. Gradients of gates are sums over the tokens of one interval,
/// which start from the state at the end of the interval.
struct LinearInterval {
  Index sequence = 0;
  Range times;
};

/// The shape of a problem as the kernels read it: its sequences and their intervals.
struct LinearPlan {
  LinearPlan(const LinearProblem& problem, Stream stream);

  Index sequences = 0, intervals = 0, boundaries = 0, chunks = 0;
  Index longest = 0;      // tokens of the longest sequence
  Index interval_tokens;  // tokens of each interval but a sequence's last
  Index token_step;       // step of the token index from time t to t + 1: 1, or -1 in reverse
  bool covers_tokens;
  DeviceArray<LinearRun> runs;
  DeviceArray<LinearInterval> interval_list;
};

}  // namespace maskctl::attention::cuda
