// The gated delta rule on the CPU: the recurrence of each head in f32, one head a task.
#include <algorithm>
#include <cmath>
#include <vector>

#include "maskctl/attention/arrays/floats.h"
#include "maskctl/base/work_scope.h"
#include "maskctl/kernels/cpu/kernels.h"
#include "maskctl/kernels/cpu/linear/heads.h"

namespace maskctl::attention {
namespace {

struct DeltaCpuCall : DeltaArrays<Floats, Floats> {
  explicit DeltaCpuCall(const DeltaProblem& p)
      : DeltaArrays(map_delta_arrays(p, [](const auto& array) { return Floats(array); })), d(p.d) {}

  const LinearDims& d;
};

/// One head of one sequence: where its rows are, and the steps of its state [K,V].
class DeltaHead {
 public:
  DeltaHead(const DeltaCpuCall& call, Index sequence, Index head)
      : call_(call),
        d_(call.d),
        first_(d_.first_token(d_.sequences[as_size(sequence)])),
        tokens_(d_.sequences[as_size(sequence)].tokens.size()),
        head_(head),
        state_((sequence * d_.heads + head) * d_.key_dim * d_.value_dim) {}

  Index tokens() const { return tokens_; }
  // Offsets of the row of a token in arrays of queries and keys, of values, and of numbers per
  // head; and of the head's state.
  Index key_row(Index step) const {
    return ((first_ + step) * d_.kv_heads + d_.kv_head(head_)) * d_.key_dim;
  }
  Index value_row(Index step) const { return ((first_ + step) * d_.heads + head_) * d_.value_dim; }
  Index number(Index step) const { return (first_ + step) * d_.heads + head_; }
  Index state() const { return state_; }

  const float* query(Index step) const { return call_.query.data() + key_row(step); }
  const float* key(Index step) const { return call_.key.data() + key_row(step); }
  float beta(Index step) const { return call_.beta.data()[number(step)]; }
  float decay(Index step) const { return call_.g ? std::exp(call_.g.data()[number(step)]) : 1; }

  /// The state before the first token.
  void load(float* state) const {
    const Index cells = d_.key_dim * d_.value_dim;
    if (call_.initial_state) {
      std::copy_n(call_.initial_state.data() + state_, cells, state);
    } else {
      std::fill_n(state, cells, 0.F);
    }
  }
  /// What the decayed state lacks of the value of a token: lack = v - decay * state^T k.
  void lacks(Index step, const float* state, float* lack) const {
    const Index width = d_.value_dim;
    std::fill_n(lack, width, 0.F);
    for (Index x = 0; x < d_.key_dim; ++x) add(key(step)[x], state + x * width, lack);
    const float* const value = call_.value.data() + value_row(step);
    for (Index y = 0; y < width; ++y) lack[y] = value[y] - decay(step) * lack[y];
  }
  /// Moves the state over a token, for which lacks() gave `lack`: to = decay * from + beta k
  /// lack^T. `to` may be `from`.
  void write(Index step, const float* lack, const float* from, float* to) const {
    const Index width = d_.value_dim;
    const float kept = decay(step), share = beta(step);
    for (Index x = 0; x < d_.key_dim; ++x) {
      const float written = share * key(step)[x];
      const float* const before = from + x * width;
      float* const after = to + x * width;
      for (Index y = 0; y < width; ++y) after[y] = kept * before[y] + written * lack[y];
    }
  }
  /// Adds `by` times a row of V numbers.
  void add(float by, const float* row, float* sums) const {
    for (Index y = 0; y < d_.value_dim; ++y) sums[y] += by * row[y];
  }

 private:
  const DeltaCpuCall& call_;
  const LinearDims& d_;
  Index first_, tokens_, head_, state_;
};

class DeltaForward {
 public:
  explicit DeltaForward(const LinearDims& d)
      : d_(d), state_(as_size(d.key_dim * d.value_dim)), lack_(as_size(d.value_dim)) {}

  void run(const DeltaHead& head, float* out, float* final_state) {
    const StopPoll poll;
    head.load(state_.data());
    for (Index step = 0; step < head.tokens(); ++step) {
      poll();
      head.lacks(step, state_.data(), lack_.data());
      head.write(step, lack_.data(), state_.data(), state_.data());
      float* const row = out + head.value_row(step);
      std::fill_n(row, d_.value_dim, 0.F);
      for (Index x = 0; x < d_.key_dim; ++x) {
        head.add(static_cast<float>(d_.scale) * head.query(step)[x],
                 state_.data() + x * d_.value_dim, row);
      }
    }
    std::ranges::copy(state_, final_state + head.state());
  }

 private:
  const LinearDims& d_;
  std::vector<float> state_, lack_;
};

/// Gradients in f32; null where an array is not given. Rows of queries and keys are added to, since
/// heads share them; all others are written once.
struct DeltaSums {
  float *query, *key, *value, *beta, *g, *initial_state;
};

/// Backpropagates through one head. States are kept at the first token of each stretch of tokens,
/// and those inside a stretch are computed again.
class DeltaBackward {
 public:
  explicit DeltaBackward(const LinearDims& d)
      : d_(d),
        cells_(as_size(d.key_dim * d.value_dim)),
        stretch_(
            std::max<Index>(1, static_cast<Index>(std::sqrt(static_cast<double>(d.longest()))))),
        inside_(as_size(stretch_ + 1) * cells_),
        d_state_(cells_),
        lack_(as_size(d.value_dim)),
        d_lack_(as_size(d.value_dim)) {}

  void run(const DeltaHead& head, const float* d_out, const float* d_final_state,
           const DeltaSums& sums) {
    if (d_final_state) {
      std::copy_n(d_final_state + head.state(), cells_, d_state_.begin());
    } else {
      std::ranges::fill(d_state_, 0.F);
    }
    keep_states(head);
    for (Index n = ceil_div(head.tokens(), stretch_); n-- > 0;) {
      const Range steps{n * stretch_, std::min((n + 1) * stretch_, head.tokens())};
      std::copy_n(kept_.begin() + static_cast<std::ptrdiff_t>(as_size(n) * cells_), cells_,
                  inside_.begin());
      for (Index step = steps.begin; step < steps.end; ++step) {
        advance(head, step, inside(step - steps.begin), inside(step - steps.begin + 1));
      }
      for (Index step = steps.end; step-- > steps.begin;) {
        token(head, step, inside(step - steps.begin), inside(step - steps.begin + 1), d_out, sums);
      }
    }
    if (sums.initial_state) std::ranges::copy(d_state_, sums.initial_state + head.state());
  }

 private:
  float* inside(Index n) { return inside_.data() + as_size(n) * cells_; }

  void advance(const DeltaHead& head, Index step, const float* from, float* to) {
    poll_();
    head.lacks(step, from, lack_.data());
    head.write(step, lack_.data(), from, to);
  }

  void keep_states(const DeltaHead& head) {
    kept_.resize(as_size(ceil_div(head.tokens(), stretch_)) * cells_);
    head.load(inside_.data());
    for (Index step = 0; step < head.tokens(); ++step) {
      if (step % stretch_ == 0) {
        std::copy_n(inside_.begin(), cells_,
                    kept_.begin() + static_cast<std::ptrdiff_t>(as_size(step / stretch_) * cells_));
      }
      advance(head, step, inside_.data(), inside_.data());
    }
  }

  /// Backpropagates through one token, which changed the state from `before` to `after`. On entry,
  /// d_state_ is the gradient of `after` from later tokens; on return, that of `before`.
  void token(const DeltaHead& head, Index step, const float* before, const float* after,
             const float* d_out, const DeltaSums& sums) {
    poll_();
    const Index width = d_.value_dim;
    const float *const q = head.query(step), *const k = head.key(step);
    const float* const d_row = d_out + head.value_row(step);
    float *const d_q = sums.query + head.key_row(step), *const d_k = sums.key + head.key_row(step);
    const float scale = static_cast<float>(d_.scale), beta = head.beta(step);
    head.lacks(step, before, lack_.data());
    std::ranges::fill(d_lack_, 0.F);  // first of the written row beta * lack
    for (Index x = 0; x < d_.key_dim; ++x) {
      float* const d_cells = d_state_.data() + x * width;
      d_q[x] += scale * dot(after + x * width, d_row);
      head.add(scale * q[x], d_row, d_cells);
      d_k[x] += beta * dot(d_cells, lack_.data());
      head.add(k[x], d_cells, d_lack_.data());
    }
    sums.beta[head.number(step)] = dot(d_lack_.data(), lack_.data());
    for (float& x : d_lack_) x *= beta;
    std::ranges::copy(d_lack_, sums.value + head.value_row(step));
    const float kept = head.decay(step);
    double d_decay = 0;
    for (Index x = 0; x < d_.key_dim; ++x) {
      float* const d_cells = d_state_.data() + x * width;
      d_k[x] -= kept * dot(before + x * width, d_lack_.data());
      head.add(-k[x], d_lack_.data(), d_cells);
      if (sums.g) d_decay += static_cast<double>(dot(d_cells, before + x * width));
      for (Index y = 0; y < width; ++y) d_cells[y] *= kept;
    }
    if (sums.g) sums.g[head.number(step)] = static_cast<float>(d_decay) * kept;
  }

  /// The product of two rows of V numbers, in eight sums that the compiler can keep in a vector.
  float dot(const float* a, const float* b) const {
    constexpr Index kLanes = 8;
    float lanes[kLanes] = {};
    Index y = 0;
    for (; y + kLanes <= d_.value_dim; y += kLanes) {
      for (Index i = 0; i < kLanes; ++i) lanes[i] += a[y + i] * b[y + i];
    }
    for (; y < d_.value_dim; ++y) lanes[0] += a[y] * b[y];
    float sum = 0;
    for (const float lane : lanes) sum += lane;
    return sum;
  }

  const LinearDims& d_;
  StopPoll poll_;
  std::size_t cells_;
  Index stretch_;
  std::vector<float> kept_, inside_, d_state_, lack_, d_lack_;
};

}  // namespace

void cpu::delta_forward(const DeltaProblem& problem, const LinearOutputs& outputs, const Context&) {
  const DeltaCpuCall call(problem);
  const LinearDims& d = call.d;
  const FloatOutput out(outputs.out);
  if (!d.covers_tokens()) out.fill(0);
  float* const final_state = outputs.final_state.as<float>().data();
  for_each_linear_task<DeltaForward>(d, d.heads, [&](DeltaForward& worker, Index n, Index h) {
    worker.run(DeltaHead(call, n, h), out.data(), final_state);
  });
  out.finish();
}

void cpu::delta_backward(const DeltaProblem& problem, const LinearBackwardInputs& inputs,
                         const DeltaGradientOutputs& gradients, const Context&) {
  const DeltaCpuCall call(problem);
  const LinearDims& d = call.d;
  const Floats d_out(inputs.d_out), d_final_state(inputs.d_final_state);
  const FloatOutput query(gradients.query), key(gradients.key), value(gradients.value),
      beta(gradients.beta);
  for (const FloatOutput* rows : {&query, &key, &value, &beta}) rows->fill(0);
  std::optional<FloatOutput> g, initial_state;
  if (gradients.g) g.emplace(*gradients.g);
  if (gradients.initial_state) initial_state.emplace(*gradients.initial_state);
  if (g) g->fill(0);
  const DeltaSums sums{query.data(),
                       key.data(),
                       value.data(),
                       beta.data(),
                       g ? g->data() : nullptr,
                       initial_state ? initial_state->data() : nullptr};
  const Index group = d.heads / d.kv_heads;
  for_each_linear_task<DeltaBackward>(d, d.kv_heads, [&](DeltaBackward& worker, Index n, Index u) {
    for (Index h = u * group; h < (u + 1) * group; ++h) {
      worker.run(DeltaHead(call, n, h), d_out.data(), d_final_state.data(), sums);
    }
  });
  for (const FloatOutput* rows : {&query, &key, &value, &beta}) rows->finish();
  if (g) g->finish();
  if (initial_state) initial_state->finish();
}

}  // namespace maskctl::attention
