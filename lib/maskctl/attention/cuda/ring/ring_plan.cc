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
  const SoftmaxOptions options = shard.softmax(keys);
  part.options = options;
  part.options.first_query += queries.begin;
  part.scale = options.scale.value_or(default_scale(part.d.dim));
  return part;
}

Range moved(Range range, Index by) { return {range.begin + by, range.end + by}; }

}  // namespace

RingPart::RingPart(const RingProblem& problem, Index t, SeenKeys::Runs wanted, bool is_first)
    : step(t), owner(problem.shard->owner(t)), runs(std::move(wanted)) {
  const RingShard& shard = *problem.shard;
  keys = t == 0 ? Range{0, shard.dims().keys} : around(runs);
  const Range of_all = moved(keys, shard.keys(owner).begin);
  queries = is_first ? Range{0, shard.dims().queries} : shard.seeing_queries(of_all);
  softmax = part_problem(problem, of_all, queries);
}

RingSteps::RingSteps(const RingProblem& problem) {
  connect_gpus();
  const RingShard& shard = *problem.shard;
  const SeenKeys seen(shard);
  partners.resize(as_size(shard.ranks()));
  for (Index t = 0; t < shard.ranks(); ++t) {
    if (seen.any_wanted(t)) {
      partners[as_size(shard.owner(t))] = true;
      parts.emplace_back(problem, t, seen.wanted(t), parts.empty());
    }
    if (!around(seen.sent(t)).empty()) partners[as_size(shard.reader(t))] = true;
    sent.push_back(seen.sent(t));
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
