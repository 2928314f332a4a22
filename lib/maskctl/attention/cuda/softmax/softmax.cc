#include "maskctl/attention/cuda/softmax/softmax.h"

#include "maskctl/attention/cuda/softmax/hopper/backward.h"
#include "maskctl/attention/cuda/softmax/hopper/forward.h"
#include "maskctl/attention/cuda/softmax/hopper/weights.h"
#include "maskctl/attention/cuda/softmax/plain/kernels.h"

namespace maskctl::attention::cuda {
namespace {

float* floats(const MutableTensorView& array) { return reinterpret_cast<float*>(array.data()); }

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
