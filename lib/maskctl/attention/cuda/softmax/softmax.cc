#include "maskctl/attention/cuda/softmax/softmax.h"

#include "maskctl/attention/cuda/hopper/backward.h"
#include "maskctl/attention/cuda/hopper/forward.h"
#include "maskctl/attention/cuda/hopper/weights.h"
#include "maskctl/attention/cuda/softmax/kernels.h"
#include "maskctl/base/error.h"

namespace maskctl::attention::cuda {
namespace {

float* floats(const MutableTensorView& array) { return reinterpret_cast<float*>(array.data()); }

/// How many query heads share a row of sinks; 0: all share one.
Index heads_of_sinks(const TensorView& sinks, const Dims& d) {
  if (sinks.rank() == 1) return 0;
  return sinks.extent(0) == d.q_heads ? 1 : d.group();
}

BackwardParams backward_params(const SoftmaxProblem& problem, const SoftmaxBackwardPlan& plan,
                               const SoftmaxBackwardInputs& inputs) {
  BackwardParams b;
  b.p = softmax_params(problem, plan.tiles);
  b.out = heads_view(inputs.out);
  b.d_out = heads_view(inputs.d_out);
  b.lse = reinterpret_cast<const float*>(inputs.lse.data());
  b.d_lse = any_array(inputs.d_lse);
  return b;
}

bool has_mean_rows(const SoftmaxParams& p) {
  return p.empty_row == EmptyRow::kMean && p.sink_count == 0;
}

}  // namespace

HeadsView heads_view(const TensorView& array) {
  if (array.elements() > 0 && array.extent(3) > 1 && array.stride(3) != 1) {
    throw Error(Errc::kUnsupported, "GPU kernels need arrays without gaps along their last axis");
  }
  return {array.data(), readable(array.dtype()), array.stride(0), array.stride(1), array.stride(2)};
}

SoftmaxParams softmax_params(const SoftmaxProblem& problem, const DeviceTiles& tiles) {
  const SoftmaxOptions& o = problem.options;
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

SoftmaxPlan::SoftmaxPlan(const SoftmaxProblem& problem, Stream stream, bool both_orders)
    : tiles(problem.mask, problem.block_map, both_orders, stream),
      schedule(hopper::forward_schedule(tiles, problem.d, problem.query.dtype(), stream)) {}

SoftmaxBackwardPlan::SoftmaxBackwardPlan(const SoftmaxProblem& problem, Stream stream)
    : SoftmaxPlan(problem, stream, true) {
  if (schedule.order.tile_rows == 0) return;
  key_order = {tiles, problem.d, schedule.order.is_fine, stream};
}

void softmax_forward(Workspace& workspace, const SoftmaxProblem& problem, const SoftmaxPlan& plan,
                     const SoftmaxOutputs& outputs) {
  const SoftmaxParams p = softmax_params(problem, plan.tiles);
  const Workspace::Scope scope(workspace);
  float* means = nullptr;
  if (has_mean_rows(p)) {
    means = workspace.take<float>(p.d.batch * p.d.kv_heads * p.d.value_dim);
    launch_value_means(p, means, workspace.stream());
  }
  if (plan.schedule.order.tile_rows > 0 && hopper::unsupported_forward(p).empty()) {
    return hopper::forward(workspace, p, plan.schedule.order, means,
                           {heads_view(outputs.out), floats(outputs.lse)});
  }
  launch_forward(p, means, any_result(outputs.out), floats(outputs.lse), workspace.stream());
}

void softmax_weights(Workspace& workspace, const SoftmaxProblem& problem, const SoftmaxPlan& plan,
                     const MutableTensorView& weights) {
  const SoftmaxParams p = softmax_params(problem, plan.tiles);
  if (hopper::unsupported_weights(p).empty()) {
    const Workspace::Scope scope(workspace);
    auto* const lse = workspace.take<float>(p.d.batch * p.d.q_heads * p.d.queries);
    hopper::row_lse(p, lse, workspace.stream());
    return hopper::weights(p, lse, floats(weights), workspace.stream());
  }
  launch_weights(p, floats(weights), workspace.stream());
}

void softmax_backward(Workspace& workspace, const SoftmaxProblem& problem,
                      const SoftmaxBackwardPlan& plan, const SoftmaxBackwardInputs& inputs,
                      const SoftmaxGradientOutputs& gradients) {
  BackwardParams b = backward_params(problem, plan, inputs);
  const Dims& d = problem.d;
  const Stream stream = workspace.stream();
  const Workspace::Scope scope(workspace);
  float* const delta = workspace.take<float>(d.batch * d.q_heads * d.queries);
  b.delta = delta;
  float* shares = nullptr;
  if (has_mean_rows(b.p)) {
    shares = workspace.take<float>(d.batch * d.kv_heads * d.value_dim);
    launch_mean_shares(b, shares, stream);
  }
  if (plan.schedule.order.tile_rows > 0 && hopper::unsupported_backward(b).empty()) {
    hopper::backward(workspace, b, plan.key_order, problem.options.deterministic, delta, shares,
                     gradients.query.data(), gradients.key.data(), gradients.value.data());
  } else {
    launch_delta(b, delta, stream);
    launch_query_gradient(b, any_result(gradients.query), stream);
    launch_key_gradients(b, shares, any_result(gradients.key), any_result(gradients.value), stream);
  }
  if (gradients.sinks) {
    const Index rows = problem.sinks->rank() == 1 ? 1 : problem.sinks->extent(0);
    launch_sink_gradient(b, any_result(*gradients.sinks), rows, stream);
  }
  if (gradients.bias) {
    Index shape[4];
    for (Index axis = 0; axis < 4; ++axis) shape[axis] = problem.bias->extent(axis);
    launch_bias_gradient(workspace, b, shape, any_result(*gradients.bias));
  }
}

}  // namespace maskctl::attention::cuda
