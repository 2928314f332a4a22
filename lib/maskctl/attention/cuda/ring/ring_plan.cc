// Plans of rings: which queries see which keys of each owner.
#include <algorithm>

#include "maskctl/attention/cuda/ring/parts.h"
#include "maskctl/attention/cuda/ring/ring.h"

namespace maskctl::attention::cuda {
namespace {

SoftmaxProblem part_problem(const RingProblem& problem, Range keys, Range queries) {
  const RingShard& shard = *problem.shard;
  const Mask mask = shard.mask(keys);
  SoftmaxProblem part;
  part.d = shard.dims();
  part.d.queries = queries.size(), part.d.keys = keys.size();
  part.query = problem.query, part.key = problem.key, part.value = problem.value;
  part.mask = sliced(mask, {0, mask.batch()}, {0, mask.heads()}, queries, {0, mask.keys()});
  part.options = shard.softmax(keys);
  part.options.first_query += queries.begin;
  part.scale = part.options.scale.value_or(default_scale(part.d.dim));
  return part;
}

Range moved(Range range, Index by) { return {range.begin + by, range.end + by}; }

}  // namespace

RingPart::RingPart(const RingProblem& problem, Index t, SeenKeys::Runs wanted)
    : step(t), owner(problem.shard->owner(t)), runs(std::move(wanted)), keys(around(runs)) {
  const Range of_all = moved(keys, problem.shard->keys(owner).begin);
  queries = problem.shard->seeing_queries(of_all);
  softmax = part_problem(problem, of_all, queries);
}

RingSteps::RingSteps(const RingProblem& problem) {
  connect_gpus();
  const SeenKeys seen(*problem.shard);
  for (Index t = 0; t < problem.shard->ranks(); ++t) {
    if (seen.any_wanted(t)) parts.emplace_back(problem, t, seen.wanted(t));
    lent.push_back(seen.lent(t));
  }
}

std::string ring_unsupported(const RingProblem& problem) {
  if (!problem.ring->shares_memory()) return "its ranks are processes";
  if (problem.ring->size() > kMostParts) return "it has more than 32 ranks";
  if (problem.shard->options().bias) return "it has a bias";
  if (problem.shard->dims().value_dim == 0) return "values have no elements";
  return "";
}

}  // namespace maskctl::attention::cuda
