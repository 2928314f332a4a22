// Ring attention between GPUs of one process: a thread for each rank, on a GPU of its own. Keys and
// values come straight from the GPU of their owner while the kernels of softmax/ work on others;
// gradients of keys go back the same way.
//
// At each step a rank makes a part of the result, for the queries that see some of the step's keys.
// The first part has all queries and is made in the result; the others are merged into it once, by
// their lse. Gradients are summed in the order of the steps. Both are f32 sums of parts that were
// rounded to the dtype of the arrays.
#pragma once

#include <deque>
#include <string>

#include "maskctl/attention/cuda/gpus.h"
#include "maskctl/attention/cuda/softmax/softmax.h"
#include "maskctl/attention/problems/ring_problem.h"
#include "maskctl/attention/ring/exchange.h"

namespace maskctl::attention::cuda {

/// What a rank does with the keys of one owner.
struct RingPart {
  RingPart(const RingProblem& problem, Index t, SeenKeys::Runs wanted, bool is_first);

  Index step, owner;
  SeenKeys::Runs runs;     // for each batch, the keys that some query sees
  Range keys;              // the stretch around the runs; of this rank's own keys, all
  Range queries;           // the stretch that sees these keys; in the first part, all
  SoftmaxProblem softmax;  // without arrays
  Event arrived, done;     // the keys are there; the work on them is done
};

/// What a rank does in each call under one mask, and what its work and its copies wait for. It
/// serves calls one after the other, on the GPU on which it was made.
struct RingSteps {
  explicit RingSteps(const RingProblem& problem);

  std::deque<RingPart> parts;  // in the order of the steps: this rank's own keys first, if seen
  std::vector<SeenKeys::Runs> sent;  // the keys of this rank that the reader at step t sees
  std::vector<bool> partners;        // ranks whose keys this one sees, or that see its keys
  // Other ranks' keys are worked on alongside the rank's own and go first, since their owners wait
  // for gradients. Parts alternate between two lanes, so that one begins where the one before
  // leaves multiprocessors idle.
  struct Lane {
    UrgentStream stream;
    mutable Workspace memory{stream.get()};
  };
  Lane lanes[2];
  OwnStream copies;
  Event begun, gathered, read;
};

/// RingSteps with the masks of the parts on the GPU.
template <class Plan>
struct RingPlanOf : RingSteps {
  RingPlanOf(const RingProblem& problem, Stream stream) : RingSteps(problem) {
    for (const RingPart& part : parts) plans.emplace_back(part.softmax, stream);
  }
  std::deque<Plan> plans;
};
using RingPlan = RingPlanOf<SoftmaxPlan>;
using RingBackwardPlan = RingPlanOf<SoftmaxBackwardPlan>;

/// Why a ring goes by way of the host, as in "its ranks are processes"; empty when it need not.
std::string ring_unsupported(const RingProblem& problem);

/// As softmax_forward, on a rank's shards, which have no gaps. The thread of every rank calls it;
/// it waits for those threads, and for no GPU.
void ring_forward(Workspace& workspace, const RingProblem& problem, const RingPlan& plan,
                  const SoftmaxOutputs& outputs);
/// The gradient of sinks is this rank's part of it.
void ring_backward(Workspace& workspace, const RingProblem& problem, const RingBackwardPlan& plan,
                   const SoftmaxBackwardInputs& inputs, const SoftmaxGradientOutputs& gradients);

}  // namespace maskctl::attention::cuda
