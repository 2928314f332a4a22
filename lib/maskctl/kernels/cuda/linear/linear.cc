// The forward and backward pass of linear attention, each as a few walks over the states (walk.h).
#include "maskctl/kernels/cuda/linear/linear.h"

#include "maskctl/kernels/cuda/linear/gates.h"
#include "maskctl/kernels/cuda/linear/sums.h"
#include "maskctl/kernels/cuda/linear/walk.h"

namespace maskctl::attention::cuda {
namespace {

LinearRows rows(const TensorView& array, Index heads, Index group, Index width) {
  return {any_array(array), heads, group, width};
}
LinearRows rows(const std::optional<TensorView>& array, Index heads, Index width) {
  return {any_array(array), heads, 1, width};
}

AnyResult result(const std::optional<MutableTensorView>& array) {
  return array ? any_result(*array) : AnyResult{};
}

/// A call's arrays in the form that the kernels take. `d_out` is the gradient of the output in the
/// backward pass and null in the forward pass.
struct Call {
  Call(Workspace& w, const LinearProblem& p, const LinearPlan& the_plan, const TensorView* d_out)
      : workspace(w), problem(p), d(p.d), plan(the_plan) {
    const Index group = d.heads / d.kv_heads;
    keys.width = d.key_dim, keys.stride = d.value_dim;
    keys.forward = rows(p.key, d.kv_heads, group, d.key_dim);
    keys.backward = rows(p.query, d.heads, 1, d.key_dim);
    if (!d.g_per_head) keys.gates[0] = rows(p.g, d.heads, d.key_dim);
    keys.gates[1] = rows(p.gk, d.heads, d.key_dim);
    values.width = d.value_dim, values.stride = 1;
    values.forward = rows(p.value, d.kv_heads, group, d.value_dim);
    if (d_out) values.backward = rows(*d_out, d.heads, 1, d.value_dim);
    values.gates[0] = rows(p.gv, d.heads, d.value_dim);
    if (d.g_per_head) head_gates.of_tokens = rows(p.g, d.heads, 1);
    head_gates.of_heads = rows(p.g_gamma, d.heads, 1);
  }

  Index tokens() const { return d.batch * d.tokens; }
  float scale() const { return static_cast<float>(d.scale); }
  float* take_states(Index count) const {
    return workspace.take<float>(count * d.heads * d.key_dim * d.value_dim);
  }

  LinearWalk forwards(const LinearAxis& from, const LinearAxis& to) const {
    LinearWalk walk = walk_between(from, to);
    walk.out_scale = scale();
    walk.first = any_array(problem.initial_state);
    return walk;
  }
  LinearWalk backwards(const LinearAxis& from, const LinearAxis& to) const {
    LinearWalk walk = walk_between(from, to);
    walk.backwards = true;
    walk.write_scale = scale();
    return walk;
  }

  Workspace& workspace;
  const LinearProblem& problem;
  const LinearDims& d;
  const LinearPlan& plan;
  LinearAxis keys, values;
  LinearHeadGates head_gates;

 private:
  LinearWalk walk_between(const LinearAxis& from, const LinearAxis& to) const {
    LinearWalk walk;
    walk.from = from, walk.to = to, walk.head_gates = head_gates;
    walk.heads = d.heads, walk.tokens = tokens();
    return walk;
  }
};

/// Zeros a result if walks do not write all of it: if some tokens are in no sequence, or if there
/// are no heads.
void clear(const Call& call, void* data, Index bytes) {
  if (data && (!call.plan.covers_tokens || call.d.heads == 0)) {
    fill_bytes(data, 0, as_size(bytes), call.workspace.stream());
  }
}

/// Runs one walk. `out`, unless its data is null, has `groups` heads, each the sum over
/// w.heads / groups neighbouring heads of the walk.
void walk_into(const Call& call, LinearWalk w, Index groups, const AnyResult& out) {
  const Index width = w.to.width;
  clear(call, out.data, call.tokens() * groups * width * size_bytes(out.dtype));
  w.out = out;
  if (w.heads == 0) return;
  if (!out.data || (w.slices() == 1 && w.heads == groups)) {
    return walk(call.workspace, call.plan, w);
  }
  const Workspace::Scope scope(call.workspace);
  const Index partial = w.slices() * w.tokens * w.heads * width;
  w.out = {call.workspace.take<float>(partial), DType::kFloat32};
  clear(call, w.out.data, partial * 4);
  walk(call.workspace, call.plan, w);
  add_up(call.workspace, {static_cast<const float*>(w.out.data), w.slices(), w.tokens, w.heads,
                          w.heads / groups, width, out});
}

/// The backward pass: first the gradients of queries and keys, then of values. It keeps the states
/// that the gradients of gates need in both.
class Backward {
 public:
  Backward(const Call& call, const LinearBackwardInputs& inputs,
           const LinearGradientOutputs& gradients)
      : call_(call), d_final_state_(any_array(inputs.d_final_state)), gradients_(gradients) {
    if (!(gradients.g || gradients.g_gamma || gradients.gk || gradients.gv)) return;
    boundary_states_ = call.take_states(call.plan.boundaries);
    if (inputs.d_final_state) last_states_ = call.take_states(call.plan.sequences);
  }

  /// Computes the gradients of queries, keys, their gates, gates of whole heads, and initial state.
  void find_keys() {
    const LinearDims& d = call_.d;
    LinearWalk forwards = call_.forwards(call_.values, call_.keys);
    forwards.boundary_states = boundary_states_;
    forwards.last = {last_states_, DType::kFloat32};
    LinearWalk backwards = call_.backwards(call_.values, call_.keys);
    backwards.last = result(gradients_.initial_state);
    LinearGateGradients gates;
    gates.gates[0] = d.g_per_head ? AnyResult{} : result(gradients_.g);
    gates.gates[1] = result(gradients_.gk);
    const bool by_key = gates.gates[0].data || gates.gates[1].data;
    const bool by_heads = (d.g_per_head && gradients_.g) || gradients_.g_gamma;
    find_axis(forwards, any_result(gradients_.query), backwards, any_result(gradients_.key), gates,
              by_key || by_heads, by_heads);
  }

  /// Computes the gradients of the values and their gates.
  void find_values() {
    LinearGateGradients gates;
    gates.gates[0] = result(gradients_.gv);
    find_axis(call_.forwards(call_.keys, call_.values), {},
              call_.backwards(call_.keys, call_.values), any_result(gradients_.value), gates,
              gates.gates[0].data != nullptr, false);
  }

 private:
  void find_axis(LinearWalk forwards, const AnyResult& of_backward_rows, LinearWalk backwards,
                 const AnyResult& of_forward_rows, LinearGateGradients& gates, bool by_gates,
                 bool by_heads) {
    const Workspace::Scope scope(call_.workspace);
    backwards.first = d_final_state_;
    if (by_gates) prepare_gates(forwards, backwards, gates);
    if (of_backward_rows.data || by_gates)
      walk_into(call_, forwards, call_.d.heads, of_backward_rows);
    walk_into(call_, backwards, call_.d.kv_heads, of_forward_rows);
    if (by_gates) find_gates(gates, by_heads);
  }

  /// Allocates the arrays that both walks must fill for the gradients of gates.
  void prepare_gates(LinearWalk& forwards, LinearWalk& backwards, LinearGateGradients& gates) {
    Workspace& workspace = call_.workspace;
    const Index slices = forwards.slices(), heads = forwards.heads, width = forwards.to.width;
    forwards.before = workspace.take<float>(slices * forwards.tokens * heads * width);
    backwards.before = workspace.take<float>(slices * forwards.tokens * heads * width);
    backwards.products = workspace.take<float>(slices * call_.plan.intervals * heads * width);
    backwards.boundary_states = boundary_states_;
    backwards.last_states = last_states_;
    gates.axis = forwards.to, gates.head_gates = call_.head_gates;
    gates.slices = slices, gates.heads = heads, gates.tokens = forwards.tokens;
    gates.before_forwards = forwards.before, gates.before_backwards = backwards.before;
    gates.products = backwards.products, gates.has_last = last_states_ != nullptr;
  }

  void find_gates(LinearGateGradients& gates, bool by_heads) {
    Workspace& workspace = call_.workspace;
    for (const AnyResult& of : gates.gates) {
      clear(call_, of.data, gates.tokens * gates.heads * gates.axis.width * size_bytes(of.dtype));
    }
    const Index parts = gates.parts() * gates.tokens * gates.heads;
    if (by_heads) gates.head_parts = workspace.take<double>(parts);
    clear(call_, gates.head_parts, parts * 8);
    cuda::find_gates(workspace, call_.plan, gates);
    if (!by_heads) return;
    add_up(workspace, LinearHeadSums{gates.head_parts, gates.parts(), gates.tokens, gates.heads,
                                     call_.d.g_per_head ? result(gradients_.g) : AnyResult{},
                                     result(gradients_.g_gamma)});
  }

  const Call& call_;
  AnyArray d_final_state_;
  const LinearGradientOutputs& gradients_;
  float* boundary_states_ = nullptr;
  float* last_states_ = nullptr;
};

}  // namespace

void linear_forward(Workspace& workspace, const LinearProblem& problem, const LinearPlan& plan,
                    const LinearOutputs& outputs) {
  const Call call(workspace, problem, plan, nullptr);
  LinearWalk forwards = call.forwards(call.keys, call.values);
  forwards.last = any_result(outputs.final_state);
  walk_into(call, forwards, call.d.heads, any_result(outputs.out));
}

void linear_backward(Workspace& workspace, const LinearProblem& problem, const LinearPlan& plan,
                     const LinearBackwardInputs& inputs, const LinearGradientOutputs& gradients) {
  const Workspace::Scope scope(workspace);
  const Call call(workspace, problem, plan, &inputs.d_out);
  Backward backward(call, inputs, gradients);
  backward.find_keys();
  backward.find_values();
}

}  // namespace maskctl::attention::cuda
