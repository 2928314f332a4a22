// Ring attention between GPUs of one process: each rank is a thread with a GPU of its own. Keys and
// values come straight from the GPU of their owner while the kernels of softmax/ work on other
// keys; gradients of keys go back the same way.
//
// At each step a rank computes a part of the result, for the queries that see some of the step's
// keys. The first part has all queries and is computed in the result's memory; the other parts are
// then merged into it, weighted by their lse. Gradients are summed in the order of the steps.
// Results and gradients are f32 sums of parts that were rounded to the dtype of the arrays.
#pragma once

#include <deque>
#include <string>

#include "maskctl/attention/cuda/gpus.h"
#include "maskctl/attention/cuda/softmax/softmax.h"
#include "maskctl/attention/problems/ring_problem.h"
#include "maskctl/attention/ring/exchange.h"

namespace maskctl::attention::cuda {

/// The work of a rank on the keys that one rank (perhaps itself) owns.
struct RingPart {
  RingPart(const RingProblem& problem, Index t, SeenKeys::Runs wanted, bool is_first);

  Index step, owner;
  SeenKeys::Runs runs;  // for each batch entry: the keys that some query sees
  Range keys;  // the smallest range that contains all runs; all keys, if they are this rank's own
  Range queries;  // the range of queries that see these keys; in the first part, all queries
  SoftmaxProblem softmax;  // the problem without its arrays
  Event arrived, done;     // the keys have arrived; the work on them is done
};

/// What a rank does in each call under one mask, and the streams and events that order its work and
/// copies. It serves one call at a time, on the GPU on which it was made.
struct RingSteps {
  explicit RingSteps(const RingProblem& problem);

  /// In the order of the steps: this rank's own keys come first, if any query sees them.
  std::deque<RingPart> parts;
  /// [t]: the keys of this rank that are seen by the rank that reads them at step t
  std::vector<SeenKeys::Runs> sent;
  /// [r]: whether this rank sees keys of rank r, or rank r sees keys of this rank.
  std::vector<bool> partners;
  // Work on other ranks' keys runs beside the work on this rank's own keys and has priority, since
  // their owners wait for gradients. Parts alternate between two lanes, so that one can start where
  // the part before leaves multiprocessors idle.
  struct Lane {
    UrgentStream stream;
    mutable Workspace memory{stream.get()};
  };
  Lane lanes[2];
  OwnStream copies;
  Event begun, gathered, read;
};

/// RingSteps, and the masks of its parts on the GPU.
template <class Plan>
struct RingPlanOf : RingSteps {
  RingPlanOf(const RingProblem& problem, Stream stream) : RingSteps(problem) {
    for (const RingPart& part : parts) plans.emplace_back(part.softmax, stream);
  }
  std::deque<Plan> plans;
};
using RingPlan = RingPlanOf<SoftmaxPlan>;
using RingBackwardPlan = RingPlanOf<SoftmaxBackwardPlan>;

/// Why the data of a ring must pass through the host, for example "its ranks are processes"; empty
/// when they need not.
std::string ring_unsupported(const RingProblem& problem);

/// Does what softmax_forward() does, on the contiguous shards of a rank. The thread of every rank
/// must call it; it waits for the threads of the other ranks, but for no GPU.
void ring_forward(Workspace& workspace, const RingProblem& problem, const RingPlan& plan,
                  const SoftmaxOutputs& outputs);
/// Computes the gradients of a rank's shards. The gradient of the sinks is only this rank's share
/// of the sum.
void ring_backward(Workspace& workspace, const RingProblem& problem, const RingBackwardPlan& plan,
                   const SoftmaxBackwardInputs& inputs, const SoftmaxGradientOutputs& gradients);

}  // namespace maskctl::attention::cuda
