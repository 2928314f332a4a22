// The two passes of a rank: the kernels of softmax attention on each part, while the keys of the
// next come, and the parts put together.
#include "maskctl/attention/cuda/ring/parts.h"
#include "maskctl/attention/cuda/ring/peers.h"
#include "maskctl/attention/cuda/softmax/kernels.h"

namespace maskctl::attention::cuda {
namespace {

float* floats(const TensorView& array) {
  return const_cast<float*>(reinterpret_cast<const float*>(array.data()));  // NOLINT
}

/// Room for what parts give to a result, beside it or in it.
class PartRooms {
 public:
  PartRooms(Workspace& workspace, const MutableTensorView& result)
      : workspace_(workspace), result_(result) {}

  /// Of one part: the result itself for the first that has all of its rows.
  MutableTensorView take(Range rows, const float* lse = nullptr) {
    MutableTensorView room = view_rows(result_, rows);
    if (taken_ || rows.size() != result_.extent(1)) {
      const Index bytes = room.elements() * size_bytes(room.dtype());
      room = {workspace_.take<std::byte>(bytes), room.dtype(), room.shape(), room.place()};
    } else {
      taken_ = true;
    }
    add(room.data(), rows, lse);
    return room;
  }
  void add(const std::byte* data, Range rows, const float* lse = nullptr) {
    parts_.part[parts_.count++] = {data, lse, rows.begin, rows.size()};
  }
  const Parts& parts() const { return parts_; }

  /// Writes their sum, and `each_row`, where it is not there already.
  void sum(const float* each_row = nullptr) const {
    if (taken_ && parts_.count == 1 && !each_row) return;
    launch_sum({result_.extent(0), result_.extent(1), result_.stride(1)}, parts_, each_row, 1,
               any_result(result_), workspace_.stream());
  }

 private:
  Workspace& workspace_;
  MutableTensorView result_;
  Parts parts_;
  bool taken_ = false;
};

/// The rank's queries with its own keys, under the options of the call.
SoftmaxParams own_params(const RingProblem& problem) {
  SoftmaxProblem own;
  own.d = problem.shard->dims();
  own.query = problem.query, own.key = problem.key, own.value = problem.value;
  own.sinks = problem.sinks;
  own.options = problem.shard->options().softmax;
  return softmax_params(own, DeviceTiles());
}

bool has_mean_rows(const SoftmaxParams& p) {
  return p.empty_row == EmptyRow::kMean && p.sink_count == 0;
}
Index row_floats(const Dims& d) { return d.batch * d.kv_heads * d.value_dim; }

/// Rows of [B,Hq,Tq], without gaps.
TensorView lse_rows(Workspace& workspace, const TensorView& whole, Range rows) {
  const std::vector<Index> shape{whole.extent(0), whole.extent(1), rows.size()};
  if (rows.size() == whole.extent(2)) return whole;
  const Index of_element = size_bytes(whole.dtype());
  const Index heads = shape[0] * shape[1], bytes = rows.size() * of_element;
  auto* const to = workspace.take<std::byte>(heads * bytes);
  copy_rows(to, bytes, whole.data() + rows.begin * of_element, whole.extent(2) * of_element, heads,
            workspace.stream());
  return {to, whole.dtype(), shape, whole.place()};
}

SoftmaxBackwardInputs inputs_of(Workspace& workspace, const SoftmaxBackwardInputs& inputs,
                                Range rows) {
  SoftmaxBackwardInputs part{view_rows(inputs.out, rows),
                             lse_rows(workspace, inputs.lse, rows),
                             view_rows(inputs.d_out, rows),
                             {}};
  if (inputs.d_lse) part.d_lse = lse_rows(workspace, *inputs.d_lse, rows);
  return part;
}

/// Of the whole rank.
BackwardParams own_backward(const RingProblem& problem, const SoftmaxBackwardInputs& inputs) {
  BackwardParams b;
  b.p = own_params(problem);
  b.out = heads_view(inputs.out), b.d_out = heads_view(inputs.d_out);
  b.lse = floats(inputs.lse);
  b.d_lse = any_array(inputs.d_lse);
  return b;
}

/// Sinks have no keys: their gradient follows from the whole rank's lse.
void sink_gradient(Workspace& workspace, const RingProblem& problem, BackwardParams b,
                   const MutableTensorView& d_sinks) {
  const Dims& d = b.p.d;
  float* const delta = workspace.take<float>(d.batch * d.q_heads * d.queries);
  launch_delta(b, delta, workspace.stream());
  b.delta = delta;
  const Index rows = problem.sinks->rank() == 1 ? 1 : problem.sinks->extent(0);
  launch_sink_gradient(b, any_result(d_sinks), rows, workspace.stream());
}

}  // namespace

void ring_forward(Workspace& workspace, const RingProblem& problem, const RingPlan& plan,
                  const SoftmaxOutputs& outputs) {
  const Workspace::Scope scope(workspace);
  const SoftmaxParams p = own_params(problem);
  const Dims& d = p.d;
  float* own_mean = nullptr;
  if (has_mean_rows(p)) {
    own_mean = workspace.take<float>(row_floats(d));
    launch_value_means(p, own_mean, workspace.stream());
  }
  Peers peers(workspace, problem, plan, own_mean, row_floats(d));
  PartRooms rooms(workspace, outputs.out);
  for (std::size_t n = 0; n < plan.parts.size(); ++n) {
    if (n == 0) peers.fetch(0);
    if (n + 1 < plan.parts.size()) peers.fetch(n + 1);
    const Range queries = plan.parts[n].queries;
    const std::vector<Index> lse_shape{d.batch, d.q_heads, queries.size()};
    const MutableTensorView lse(
        workspace.take<std::byte>(d.batch * d.q_heads * queries.size() * Index{sizeof(float)}),
        DType::kFloat32, lse_shape, outputs.lse.place());
    const SoftmaxProblem part = peers.arrived(n);
    softmax_forward(workspace, part, plan.plans[n], {rooms.take(queries, floats(lse)), lse});
    peers.done(n);
  }
  const float* const means = own_mean ? peers.mean_row() : nullptr;
  launch_merge(p, rooms.parts(), means, any_result(outputs.out), floats(outputs.lse),
               workspace.stream());
  peers.close();
}

void ring_backward(Workspace& workspace, const RingProblem& problem, const RingBackwardPlan& plan,
                   const SoftmaxBackwardInputs& inputs, const SoftmaxGradientOutputs& gradients) {
  const Workspace::Scope scope(workspace);
  const BackwardParams b = own_backward(problem, inputs);
  float* shares = nullptr;
  if (has_mean_rows(b.p)) {
    shares = workspace.take<float>(row_floats(b.p.d));
    launch_mean_shares(b, shares, workspace.stream());
  }
  Peers peers(workspace, problem, plan, shares, row_floats(b.p.d));
  PartRooms d_query(workspace, gradients.query), d_key(workspace, gradients.key),
      d_value(workspace, gradients.value);
  std::vector<Peers::KeyGradients> for_others;
  for (std::size_t n = 0; n < plan.parts.size(); ++n) {
    if (n == 0) peers.fetch(0);
    if (n + 1 < plan.parts.size()) peers.fetch(n + 1);
    const RingPart& step = plan.parts[n];
    const SoftmaxProblem part = peers.arrived(n);
    const bool own = step.owner == problem.shard->rank();
    const auto room = [&](PartRooms& rooms, const TensorView& like) {
      if (own) return rooms.take(step.keys);
      auto* const data = workspace.take<std::byte>(like.elements() * size_bytes(like.dtype()));
      return MutableTensorView(data, like.dtype(), like.shape(), like.place());
    };
    const SoftmaxGradientOutputs to{
        d_query.take(step.queries), room(d_key, part.key), room(d_value, part.value), {}, {}};
    softmax_backward(workspace, part, plan.plans[n], inputs_of(workspace, inputs, step.queries),
                     to);
    peers.done(n);
    if (!own) for_others.push_back({n, to.key.data(), to.value.data()});
  }
  for (const Peers::Home& home : peers.bring_home(for_others)) {
    d_key.add(home.key, home.keys), d_value.add(home.value, home.keys);
  }
  d_query.sum(), d_key.sum(), d_value.sum(shares ? peers.mean_row() : nullptr);
  if (gradients.sinks) sink_gradient(workspace, problem, b, *gradients.sinks);
  peers.close();
}

}  // namespace maskctl::attention::cuda
