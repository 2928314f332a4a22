// The forward and the backward pass of a rank: runs the kernels of softmax attention on each part
// while the keys of the next part are copied, then puts the parts together.
#include <cuda_runtime_api.h>

#include "maskctl/attention/cuda/ring/parts.h"
#include "maskctl/attention/cuda/ring/peers.h"
#include "maskctl/attention/cuda/softmax/plain/kernels.h"

namespace maskctl::attention::cuda {
namespace {

float* floats(const TensorView& array) {
  return const_cast<float*>(reinterpret_cast<const float*>(array.data()));  // NOLINT
}

MutableTensorView room_like(Workspace& workspace, const TensorView& like) {
  auto* const data = workspace.take<std::byte>(like.elements() * size_bytes(like.dtype()));
  return {data, like.dtype(), like.shape(), like.place()};
}

/// Memory for the parts of a result. One part may be in the result itself.
class PartRooms {
 public:
  PartRooms(Workspace& workspace, const MutableTensorView& result)
      : workspace_(workspace), result_(result) {}

  /// Returns memory for a part with these rows. The first part that has all rows is made in the
  /// result.
  MutableTensorView take(Range rows) {
    MutableTensorView room = view_rows(result_, rows);
    if (is_in_place_ || rows.size() != result_.extent(1)) room = room_like(workspace_, room);
    is_in_place_ = is_in_place_ || room.data() == result_.data();
    add(room.data(), rows);
    return room;
  }
  /// Returns memory for the lse of the newest part, which take() has just made: in `whole`, the lse
  /// of all rows, if the part is made in the result.
  MutableTensorView take_lse(const MutableTensorView& whole) {
    Part& part = parts_.part[parts_.count - 1];
    const std::vector<Index> shape{whole.extent(0), whole.extent(1), part.count};
    MutableTensorView room(whole.data(), whole.dtype(), shape, whole.place());
    if (part.data != result_.data()) room = room_like(workspace_, room);
    part.lse = floats(room);
    return room;
  }
  void add(const std::byte* data, Range rows) {
    parts_.part[parts_.count++] = {data, nullptr, rows.begin, rows.size()};
  }
  const Parts& parts() const { return parts_; }

  /// Writes the sum of the parts to the result, with `each_row` added to every row.
  void sum(const float* each_row = nullptr) const {
    launch_sum({result_.extent(0), result_.extent(1), result_.stride(1)}, parts_, each_row, 1,
               any_result(result_), workspace_.stream());
  }

 private:
  Workspace& workspace_;
  MutableTensorView result_;
  Parts parts_;
  bool is_in_place_ = false;
};

/// The parameters of a call with the rank's queries and its own keys, and the options of the ring.
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

/// Some rows of an array [B,Hq,Tq], as a contiguous array.
TensorView lse_rows(Workspace& workspace, const TensorView& whole, Range rows) {
  const std::vector<Index> shape{whole.extent(0), whole.extent(1), rows.size()};
  if (rows.size() == whole.extent(2)) return whole;
  const Index of_element = size_bytes(whole.dtype());
  const Index heads = shape[0] * shape[1], bytes = rows.size() * of_element;
  auto* const to = workspace.take<std::byte>(heads * bytes);
  check(cudaMemcpy2DAsync(to, as_size(bytes), whole.data() + rows.begin * of_element,
                          as_size(whole.extent(2) * of_element), as_size(bytes), as_size(heads),
                          cudaMemcpyDeviceToDevice, workspace.stream()),
        "cudaMemcpy2DAsync");
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

/// The parameters of the backward call for all of the rank's queries.
BackwardParams own_backward(const RingProblem& problem, const SoftmaxBackwardInputs& inputs) {
  BackwardParams b;
  b.p = own_params(problem);
  b.out = heads_view(inputs.out), b.d_out = heads_view(inputs.d_out);
  b.lse = floats(inputs.lse);
  b.d_lse = any_array(inputs.d_lse);
  return b;
}

/// Computes the gradient of the sinks. Sinks have no keys, so the rank's lse and delta are enough.
void sink_gradient(Workspace& workspace, const RingProblem& problem, BackwardParams b,
                   const MutableTensorView& d_sinks) {
  const Dims& d = b.p.d;
  float* const delta = workspace.take<float>(d.batch * d.q_heads * d.queries);
  launch_delta(b, delta, workspace.stream());
  b.delta = delta;
  const Index rows = problem.sinks->rank() == 1 ? 1 : problem.sinks->extent(0);
  launch_sink_gradient(b, any_result(d_sinks), rows, workspace.stream());
}

/// The times that RingAttentionOptions::steps asks for, measured by the GPU: one step for each
/// rank, and one for the merge of the parts.
class StepTimes {
 public:
  explicit StepTimes(const RingProblem& problem) : problem_(problem) {}

  /// Records the current moment in the stream. It is called three times for each part, and three
  /// times at the end: when the stream begins to wait, when it begins to work, and when it is done.
  void mark(Stream stream) {
    if (steps()) moments_.emplace_back(stream);
  }
  /// Appends the steps to the caller's list, if there is one. This waits for the GPU.
  void give(const RingSteps& plan, bool is_backward) {
    if (!steps()) return;
    std::vector<RingStep> all(plan.sent.size() + 1);
    for (std::size_t t = 1; t < plan.sent.size(); ++t) all[t].bytes = bytes(plan.sent[t]);
    for (std::size_t n = 0; n < plan.parts.size(); ++n) {
      const RingPart& part = plan.parts[n];
      RingStep& step = all[as_size(part.step)];
      if (is_backward && part.step > 0) step.bytes += bytes(part.runs);
      time(3 * n, step);
    }
    time(3 * plan.parts.size(), all.back());
    steps()->insert(steps()->end(), all.begin(), all.end());
  }

 private:
  std::vector<RingStep>* steps() const { return problem_.shard->options().steps; }
  void time(std::size_t first, RingStep& step) const {
    step.waited = moments_[first + 1].seconds_since(moments_[first]);
    step.seconds = moments_[first + 2].seconds_since(moments_[first + 1]);
  }
  /// The bytes of the keys and values in `runs`, or of their gradients, in all batch entries.
  Index bytes(const SeenKeys::Runs& runs) const {
    Index keys = 0;
    for (const auto& of_batch : runs) {
      for (const Range& run : of_batch) keys += run.size();
    }
    const Index batches = problem_.key.extent(0) / std::ssize(runs);
    return keys * batches * size_bytes(problem_.key.dtype()) *
           (problem_.key.stride(1) + problem_.value.stride(1));
  }

  const RingProblem& problem_;
  std::deque<Moment> moments_;
};

}  // namespace

void ring_forward(Workspace& workspace, const RingProblem& problem, const RingPlan& plan,
                  const SoftmaxOutputs& outputs) {
  const Workspace::Scope scope(workspace);
  const SoftmaxParams p = own_params(problem);
  float* own_mean = nullptr;
  if (has_mean_rows(p)) {
    own_mean = workspace.take<float>(row_floats(p.d));
    launch_value_means(p, own_mean, workspace.stream());
  }
  Peers peers(workspace, problem, plan, own_mean, row_floats(p.d), false);
  PartRooms rooms(workspace, outputs.out);
  std::vector<SoftmaxOutputs> results;
  for (const RingPart& part : plan.parts) {
    const MutableTensorView out = rooms.take(part.queries);
    results.push_back({out, rooms.take_lse(outputs.lse)});
  }
  peers.begin();
  StepTimes times(problem);
  for (std::size_t n = 0; n < plan.parts.size(); ++n) {
    Workspace& memory = peers.memory(n);
    times.mark(memory.stream());
    const SoftmaxProblem part = peers.arrived(n);
    times.mark(memory.stream());
    softmax_forward(memory, part, plan.plans[n], results[n]);
    peers.done(n);
    times.mark(memory.stream());
  }
  times.mark(workspace.stream());
  peers.join();
  const float* const means = own_mean ? peers.mean_row() : nullptr;
  times.mark(workspace.stream());
  launch_merge(p, rooms.parts(), means, any_result(outputs.out), floats(outputs.lse),
               workspace.stream());
  peers.close();
  times.mark(workspace.stream());
  times.give(plan, false);
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
  Peers peers(workspace, problem, plan, shares, row_floats(b.p.d), true);
  PartRooms d_query(workspace, gradients.query), d_key(workspace, gradients.key),
      d_value(workspace, gradients.value);
  std::vector<SoftmaxGradientOutputs> results;
  std::vector<Peers::KeyGradients> for_others;
  for (std::size_t n = 0; n < plan.parts.size(); ++n) {
    const RingPart& part = plan.parts[n];
    const bool own = part.owner == problem.shard->rank();
    const auto room = [&](PartRooms& rooms, const MutableTensorView& whole) {
      return own ? rooms.take(part.keys) : room_like(workspace, view_rows(whole, part.keys));
    };
    results.push_back({d_query.take(part.queries),
                       room(d_key, gradients.key),
                       room(d_value, gradients.value),
                       {},
                       {}});
    if (!own) for_others.push_back({n, results[n].key.data(), results[n].value.data()});
  }
  peers.begin();
  StepTimes times(problem);
  for (std::size_t n = 0; n < plan.parts.size(); ++n) {
    Workspace& memory = peers.memory(n);
    const Workspace::Scope of_part(memory);
    times.mark(memory.stream());
    const SoftmaxProblem part = peers.arrived(n);
    times.mark(memory.stream());
    softmax_backward(memory, part, plan.plans[n], inputs_of(memory, inputs, plan.parts[n].queries),
                     results[n]);
    peers.done(n);
    times.mark(memory.stream());
  }
  times.mark(workspace.stream());
  for (const Peers::Home& home : peers.bring_home(for_others)) {
    d_key.add(home.key, home.keys), d_value.add(home.value, home.keys);
  }
  peers.join();
  times.mark(workspace.stream());
  d_query.sum(), d_key.sum(), d_value.sum(shares ? peers.mean_row() : nullptr);
  if (gradients.sinks) sink_gradient(workspace, problem, b, *gradients.sinks);
  peers.close();
  times.mark(workspace.stream());
  times.give(plan, true);
}

}  // namespace maskctl::attention::cuda
