#include "maskctl/attention/cuda/softmax/params.h"

namespace maskctl::attention::cuda {
namespace {

/// How many query heads share a row of sinks; 0: all share one.
Index heads_of_sinks(const TensorView& sinks, const Dims& d) {
  if (sinks.rank() == 1) return 0;
  return sinks.extent(0) == d.q_heads ? 1 : d.group();
}

}  // namespace

SoftmaxParams softmax_params(const SoftmaxProblem& problem, const DeviceTiles& tiles) {
  const SoftmaxSettings& o = problem.options;
  SoftmaxParams p;
  p.d = problem.d;
  p.query = heads_view(problem.query);
  p.key = heads_view(problem.key);
  p.value = heads_view(problem.value);
  p.by_query = tiles.view(TileOrder::kQueryMajor);
  p.by_key = tiles.view(TileOrder::kKeyMajor);
  p.scale = static_cast<float>(problem.scale);
  p.soft_cap = static_cast<float>(o.soft_cap.value_or(0));
  p.bias_after_cap = o.bias_order == BiasOrder::kAfterCap;
  p.normalize = o.normalize;
  p.empty_row = o.empty_row;
  p.bias = any_array(problem.bias);
  for (Index axis = 0; problem.bias && axis < 4; ++axis) {
    p.bias_stride[axis] = problem.bias->extent(axis) == 1 ? 0 : problem.bias->stride(axis);
  }
  p.sinks = any_array(problem.sinks);
  p.sink_count = sink_count(problem.sinks);
  if (problem.sinks) p.heads_of_sinks = heads_of_sinks(*problem.sinks, problem.d);
  p.dropout = o.dropout;
  p.dropout_seed = o.dropout_seed;
  p.first_batch = o.first_batch, p.first_head = o.first_head;
  p.first_query = o.first_query, p.first_key = o.first_key;
  return p;
}

}  // namespace maskctl::attention::cuda
