// Gradients of linear attention on the CPU. A forward sweep stores the state before every chunk;
// then chunks are processed from the last to the first.
#include <algorithm>
#include <optional>
#include <vector>

#include "maskctl/attention/arrays/to_double.h"
#include "maskctl/kernels/cpu/kernels.h"
#include "maskctl/kernels/cpu/linear/chunk.h"
#include "maskctl/kernels/cpu/linear/gate_gradients.h"

namespace maskctl::attention {
namespace {

/// Computes the gradients of one head of one sequence, in the notation of Chunk.
class BackwardWorker {
 public:
  explicit BackwardWorker(const LinearDims& d)
      : keys_(d.key_dim),
        values_(d.value_dim),
        key_stride_(round_up(keys_, kColumnGroup)),
        scale_(static_cast<float>(d.scale)),
        capacity_(chunk_tokens(d)),
        rows_(pair_rows(capacity_)),
        chunk_(d, capacity_),
        state_(d),
        d_state_(d),
        packed_(buffer(std::max({capacity_, keys_, values_}) *
                       std::max({kChunk, key_stride_, state_.stride()}))),
        out_gradient_(buffer(rows_ * values_)),
        state_gradient_(out_gradient_.size()),
        scores_(buffer(rows_ * kChunk)),
        score_gradients_(scores_.size()),
        own_scores_(buffer(capacity_)),
        own_gradients_(buffer(capacity_)),
        d_query_(buffer(rows_ * key_stride_)),
        d_key_(d_query_.size()),
        d_value_(buffer(rows_ * state_.stride())),
        sums_(d_value_.size()),
        gates_(d, capacity_) {}

  void run(const LinearHead& head, const float* initial_state, Rows d_out,
           const float* d_final_state, HeadGradients& gradients) {
    keep_states(head, initial_state);
    d_state_.load(d_final_state);
    if (gradients.any_gates) gates_.carry(state_.data(), d_state_.data());
    for (Index n = ceil_div(head.tokens, capacity_); n-- > 0;) {
      chunk_.load(head, n * capacity_);
      chunk_.load_queries(head, n * capacity_);
      prefetch(head, n, d_out, gradients);
      undo(n * capacity_, entered(n), d_out, gradients);
    }
    d_state_.store(gradients.initial_state);
  }

 private:
  /// The state on entry to chunk n, after the decays of its first token.
  float* entered(Index n) { return states_.data() + as_size(n) * state_.cells().size(); }

  /// Runs forward over all chunks and stores entered() of each. Afterwards, state_ is the final
  /// state.
  void keep_states(const LinearHead& head, const float* initial_state) {
    state_.load(initial_state);
    const Index chunks = ceil_div(head.tokens, capacity_);
    states_.resize(std::max(states_.size(), as_size(chunks) * state_.cells().size()));
    for (Index n = 0; n < chunks; ++n) {
      chunk_.load(head, n * capacity_);
      prefetches_.clear();
      prefetches_.add_keys(head, tokens_of(head, n + 1), keys_, values_);
      chunk_.enter(state_.data(), state_.stride());
      std::ranges::copy(state_.cells(), entered(n));
      state_.leave(chunk_, packed_.data(), &prefetches_);
    }
  }

  /// The tokens of chunk n; empty if there is no such chunk.
  Range tokens_of(const LinearHead& head, Index n) const {
    return {std::max<Index>(n * capacity_, 0), std::min((n + 1) * capacity_, head.tokens)};
  }

  /// Queues prefetches: the rows that chunk n - 1 will read, and those that undo() of chunk n will
  /// write.
  void prefetch(const LinearHead& head, Index n, const Rows& d_out,
                const HeadGradients& gradients) {
    const Range next = tokens_of(head, n - 1), tokens = tokens_of(head, n);
    prefetches_.clear();
    prefetches_.add_keys(head, next, keys_, values_);
    prefetches_.add(head.q, next, keys_);
    prefetches_.add(d_out, next, values_);
    prefetches_.add(gradients.q, tokens, keys_);
    prefetches_.add(gradients.k, tokens, keys_);
    prefetches_.add(gradients.v, tokens, values_);
  }

  /// Writes all gradients of the loaded chunk. On entry, d_state_ is the gradient of the state
  /// after the chunk; on return, it is the gradient of the state before the chunk.
  void undo(Index first, const float* entered, const Rows& d_out, HeadGradients& gradients) {
    const bool by_value = bool(gradients.value_gates);
    load_out_gradient(first, d_out);
    find_d_query(entered);
    if (by_value) read_state(chunk_, entered, state_.stride(), packed_.data(), sums_.data());
    for (Index j = 0; j < chunk_.segments(); ++j) find_scores(j, by_value);
    find_d_key();
    find_d_value();
    for (Index j = chunk_.segments(); j-- > 0;) pass_back(j);
    if (gradients.any_gates) find_gates(by_value);
    add_own();
    chunk_.leave(d_state_.data(), d_state_.stride());
    pack_rows(state_gradient(), values_, chunk_.count(), values_, packed_.data());
    d_state_.add_product(chunk_.state_query(), chunk_.count(), packed_.data());
    if (gradients.any_gates) {
      gates_.carry(entered, d_state_.data());
      gates_.write(chunk_.count(), first, gradients);
    }
    write_rows(first, gradients);
    chunk_.enter(d_state_.data(), d_state_.stride());
  }

  void load_out_gradient(Index first, const Rows& d_out) {
    const Decays& decays = chunk_.values().decays();
    scale_rows(d_out.from(first), chunk_.count(), values_,
               {.factor = scale_, .cells = decays.cells()}, {out_gradient_.data(), values_});
    if (state_gradient() == out_gradient_.data()) return;
    chunk_.scale_before(decays, nullptr, {out_gradient_.data(), values_},
                        {state_gradient_.data(), values_});
  }

  /// Returns out_gradient_, with the row of each token multiplied by the decays from the first
  /// token of the chunk to the first token of the token's segment. These rows multiply the state at
  /// the begin of the chunk.
  const float* state_gradient() const {
    const bool is_one = !chunk_.values().decays().before(chunk_.segments() - 1);
    return is_one ? out_gradient_.data() : state_gradient_.data();
  }

  // The next functions compute what the state contributes to the gradients of the chunk. `entered`,
  // and the rows that leave_keys() and leave_values() return, already include the decays between
  // the state and the token.

  void find_d_query(const float* entered) {
    pack_columns(entered, state_.stride(), keys_, values_, packed_.data());
    multiply(state_gradient(), values_, chunk_.rows(), values_, packed_.data(), key_stride_,
             d_query_.data(), key_stride_, false);
    chunk_.scale_before(chunk_.keys().decays(), chunk_.from_start(), {d_query_.data(), key_stride_},
                        {d_query_.data(), key_stride_});
  }

  void find_d_key() {
    pack_columns(d_state_.data(), d_state_.stride(), keys_, values_, packed_.data());
    multiply(chunk_.leave_values(), values_, chunk_.rows(), values_, packed_.data(), key_stride_,
             d_key_.data(), key_stride_, false);
    scale({d_key_.data(), key_stride_}, chunk_.count(), keys_, {.by_row = chunk_.to_end()});
  }

  void find_d_value() {
    const Index stride = state_.stride();
    pack_rows(d_state_.data(), stride, keys_, values_, packed_.data());
    multiply(chunk_.leave_keys(), keys_, chunk_.rows(), keys_, packed_.data(), stride,
             d_value_.data(), stride, false);
  }

  // The next functions add what pairs of tokens contribute to the gradients of the chunk.

  /// Adds to sums_ what the tokens of segment j read from the keys and values of the chunk, and
  /// adds the corresponding gradients of the queries to d_query_.
  void find_scores(Index j, bool by_value) {
    const Range tokens = chunk_.segment(j);
    const Index row = tokens.begin * kChunk, stride = state_.stride();
    const PairSpans spans(tokens);
    const float *const keys = chunk_.meet_keys(j), *const values = chunk_.meet_values(j);
    pack_columns(keys, keys_, tokens.end, keys_, packed_.data());
    multiply_columns(chunk_.query() + tokens.begin * keys_, keys_, keys_, packed_.data(),
                     spans.columns(), scores_.data() + row, kChunk, &prefetches_);
    chunk_.decay_scores(j, scores_.data(), own_scores_.data());
    pack_columns(values, values_, tokens.end, values_, packed_.data());
    multiply_columns(out_gradient_.data() + tokens.begin * values_, values_, values_,
                     packed_.data(), spans.columns(), score_gradients_.data() + row, kChunk,
                     &prefetches_);
    chunk_.decay_scores(j, score_gradients_.data(), own_gradients_.data());
    pack_rows(keys, keys_, tokens.end, keys_, packed_.data());
    multiply_depths(score_gradients_.data() + row, kChunk, tokens.end, packed_.data(), key_stride_,
                    spans.earlier(), d_query_.data() + tokens.begin * key_stride_, key_stride_,
                    true, &prefetches_);
    if (!by_value) return;
    pack_rows(values, values_, tokens.end, values_, packed_.data());
    multiply_depths(scores_.data() + row, kChunk, tokens.end, packed_.data(), stride,
                    spans.earlier(), sums_.data() + tokens.begin * stride, stride);
  }

  /// Handles the tokens up to the end of segment j: multiplies d_key_ and d_value_, the gradients
  /// from later segments, by the decays of segment j, and adds the gradients from the tokens of
  /// segment j.
  void pass_back(Index j) {
    const Range tokens = chunk_.segment(j);
    const Index row = tokens.begin * kChunk, stride = state_.stride();
    const PairSpans spans(tokens);
    scale({d_key_.data(), key_stride_}, tokens.end, keys_,
          {.by_column = chunk_.keys().decays().across(j)});
    pack_rows(chunk_.query() + tokens.begin * keys_, keys_, tokens.size(), keys_, packed_.data());
    multiply_transposed(score_gradients_.data() + row, kChunk, tokens.size(), packed_.data(),
                        key_stride_, spans.later(), d_key_.data(), key_stride_, &prefetches_);
    scale({d_value_.data(), stride}, tokens.end, values_,
          {.by_column = chunk_.values().decays().across(j)});
    pack_rows(out_gradient_.data() + tokens.begin * values_, values_, tokens.size(), values_,
              packed_.data());
    multiply_transposed(scores_.data() + row, kChunk, tokens.size(), packed_.data(), stride,
                        spans.later(), d_value_.data(), stride, &prefetches_);
  }

  static void scale(const RowsOf<float>& rows, Index count, Index width, const Scaling& by) {
    if (!by.is_one()) scale_rows({rows.data, rows.stride}, count, width, by, rows);
  }

  void find_gates(bool by_value) {
    const Index stride = state_.stride();
    const GateGradients::Terms keys{{{chunk_.query(), keys_}, {d_query_.data(), key_stride_}},
                                    {{chunk_.keys().rows(), keys_}, {d_key_.data(), key_stride_}}};
    const GateGradients::Terms values{
        {{out_gradient_.data(), values_}, {sums_.data(), stride}},
        {{chunk_.values().rows(), values_}, {d_value_.data(), stride}}};
    gates_.find(chunk_, keys, by_value ? &values : nullptr);
  }

  /// Adds to d_query_, d_key_ and d_value_ what each token gives by reading its own key. Must be
  /// called after the gradients of gates are computed: in these gradients, the contribution would
  /// cancel, but leave a rounding error that no decay reduces.
  void add_own() {
    const Index n = chunk_.count(), stride = state_.stride();
    const Scaling by_gradient{.by_row = own_gradients_.data()},
        by_score{.by_row = own_scores_.data()};
    scale_rows({chunk_.keys().rows(), keys_}, n, keys_, by_gradient, {d_query_.data(), key_stride_},
               true);
    scale_rows({chunk_.query(), keys_}, n, keys_, by_gradient, {d_key_.data(), key_stride_}, true);
    scale_rows({out_gradient_.data(), values_}, n, values_, by_score, {d_value_.data(), stride},
               true);
  }

  void write_rows(Index first, const HeadGradients& gradients) const {
    const Index n = chunk_.count();
    const Scaling by_keys{.cells = chunk_.keys().decays().cells(), .divides = true};
    const Scaling by_values{.cells = chunk_.values().decays().cells(), .divides = true};
    scale_rows({d_query_.data(), key_stride_}, n, keys_, {.cells = by_keys.cells},
               gradients.q.from(first));
    scale_rows({d_key_.data(), key_stride_}, n, keys_, by_keys, gradients.k.from(first),
               gradients.adds);
    scale_rows({d_value_.data(), state_.stride()}, n, values_, by_values, gradients.v.from(first),
               gradients.adds);
  }

  Index keys_, values_, key_stride_;
  float scale_;
  Index capacity_, rows_;
  Chunk chunk_;
  LinearState state_, d_state_;
  LinearPrefetchQueue prefetches_;
  Buffer packed_, out_gradient_, state_gradient_, scores_, score_gradients_;
  Buffer own_scores_, own_gradients_;  // score of each token with its own key, and its gradient
  Buffer d_query_, d_key_, d_value_;
  Buffer sums_;  // o_t / (softmax_scale * R_t), as in Chunk; out_gradient_ is its gradient
  GateGradients gates_;
  Buffer states_;  // states on entry to all chunks, one after another
};

/// The gradients of a call, accumulated in f32.
class Sums {
 public:
  Sums(const LinearGradientOutputs& outputs, const LinearDims& d)
      : query_(outputs.query),
        key_(outputs.key),
        value_(outputs.value),
        g_gamma_output_(outputs.g_gamma),
        g_gamma_(as_size(static_cast<Index>(d.sequences.size()) * d.heads)) {
    if (outputs.g) g_.emplace(*outputs.g);
    if (outputs.gk) gk_.emplace(*outputs.gk);
    if (outputs.gv) gv_.emplace(*outputs.gv);
    if (!outputs.initial_state) unused_ = Tensor::unwritten(DType::kFloat32, d.state_shape());
    initial_state_.emplace(outputs.initial_state.value_or(unused_));
    if (d.covers_tokens() && d.heads > 0) return;
    for (const FloatOutput* rows : {&query_, &key_, &value_}) rows->fill(0);
    for (const auto* rows : {&g_, &gk_, &gv_}) {
      if (*rows) (*rows)->fill(0);
    }
  }

  HeadGradients head(const LinearCpuCall& c, Index n, Index h) {
    const LinearDims& d = c.d;
    const auto gates = [&](const std::optional<FloatOutput>& array, Index width) {
      return c.rows(array ? array->data() : nullptr, n, d.heads, h, width);
    };
    HeadGradients head;
    head.q = c.rows(query_.data(), n, d.heads, h, d.key_dim);
    head.k = c.rows(key_.data(), n, d.kv_heads, d.kv_head(h), d.key_dim);
    head.v = c.rows(value_.data(), n, d.kv_heads, d.kv_head(h), d.value_dim);
    (d.g_per_head ? head.head_gates : head.key_gates[0]) = gates(g_, d.g_per_head ? 1 : d.key_dim);
    head.key_gates[1] = gates(gk_, d.key_dim);
    head.value_gates = gates(gv_, d.value_dim);
    head.by_head = c.g_gamma || d.g_per_head;
    head.any_gates = c.g || c.g_gamma || c.gk || c.gv;
    head.initial_state = initial_state_->data() + (n * d.heads + h) * d.key_dim * d.value_dim;
    return head;
  }

  /// The gradient of g_gamma from one head of one sequence.
  double& g_gamma(Index sequence, Index heads, Index h) {
    return g_gamma_[as_size(sequence * heads + h)];
  }

  void finish() {
    for (const FloatOutput* rows : {&query_, &key_, &value_}) rows->finish();
    for (const auto* rows : {&g_, &gk_, &gv_, &initial_state_}) {
      if (*rows) (*rows)->finish();
    }
    if (g_gamma_output_) finish_gamma();
  }

 private:
  /// Adds up the gradients of g_gamma over the sequences, in their order.
  void finish_gamma() {
    std::vector<double> sums(as_size(g_gamma_output_->elements()));
    for (std::size_t n = 0; n < g_gamma_.size(); ++n) sums[n % sums.size()] += g_gamma_[n];
    store(sums, *g_gamma_output_);
  }

  FloatOutput query_, key_, value_;
  std::optional<FloatOutput> g_, gk_, gv_, initial_state_;
  Tensor unused_;  // dummy gradient, if there is no initial state
  std::optional<MutableTensorView> g_gamma_output_;
  std::vector<double> g_gamma_;  // gradient of g_gamma from each sequence and head, [N,H]
};

}  // namespace

void cpu::linear_backward(const LinearProblem& problem, const LinearBackwardInputs& inputs,
                          const LinearGradientOutputs& gradients, const Context&) {
  const LinearCpuCall call(problem);
  const LinearDims& d = call.d;
  const Floats d_out(inputs.d_out), d_final_state(inputs.d_final_state);
  Sums sums(gradients, d);
  const Index group = d.heads / d.kv_heads;
  for_each_linear_task<BackwardWorker>(
      d, d.kv_heads, [&](BackwardWorker& worker, Index n, Index u) {
        for (Index h = u * group; h < (u + 1) * group; ++h) {
          HeadGradients head = sums.head(call, n, h);
          head.adds = h > u * group;
          worker.run(call.head(n, h), call.state(call.initial_state, n, h),
                     call.rows(d_out.data(), n, d.heads, h, d.value_dim),
                     call.state(d_final_state, n, h), head);
          sums.g_gamma(n, d.heads, h) = head.g_gamma;
        }
      });
  sums.finish();
}

}  // namespace maskctl::attention
