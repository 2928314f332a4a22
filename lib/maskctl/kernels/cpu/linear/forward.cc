// Linear attention on the CPU: matrix products inside chunks of tokens, and a state between chunks.
#include <algorithm>

#include "maskctl/kernels/cpu/kernels.h"
#include "maskctl/kernels/cpu/linear/chunk.h"

namespace maskctl::attention {
namespace {

/// Computes one head of one sequence, from its first token to its last.
class ForwardWorker {
 public:
  explicit ForwardWorker(const LinearDims& d)
      : keys_(d.key_dim),
        values_(d.value_dim),
        scale_(static_cast<float>(d.scale)),
        capacity_(chunk_tokens(d)),
        chunk_(d, capacity_),
        state_(d),
        packed_keys_(buffer(keys_ * round_up(capacity_, kColumnGroup))),
        packed_values_(buffer(capacity_ * state_.stride())),
        packed_state_(buffer(keys_ * state_.stride())),
        scores_(buffer(pair_rows(capacity_) * kChunk)),
        sums_(buffer(pair_rows(capacity_) * state_.stride())) {}

  void run(const LinearHead& head, const float* initial_state, RowsOf<float> out,
           float* final_state) {
    state_.load(initial_state);
    for (Index first = 0; first < head.tokens; first += chunk_.count()) {
      chunk_.load(head, first);
      chunk_.load_queries(head, first);
      prefetch(head, first, out);
      chunk_.enter(state_.data(), state_.stride());
      read_state(chunk_, state_.data(), state_.stride(), packed_state_.data(), sums_.data());
      for (Index j = 0; j < chunk_.segments(); ++j) read_tokens(j);
      write(first, out);
      state_.leave(chunk_, packed_values_.data(), &prefetches_);
    }
    state_.store(final_state);
  }

 private:
  /// Queues prefetches: the rows that this chunk will write, and those that the next chunk will
  /// read.
  void prefetch(const LinearHead& head, Index first, const RowsOf<float>& out) {
    const Index end = first + chunk_.count();
    const Range next{end, std::min(end + capacity_, head.tokens)};
    prefetches_.clear();
    prefetches_.add_keys(head, next, keys_, values_);
    prefetches_.add(head.q, next, keys_);
    prefetches_.add(out, {first, end}, values_);
  }

  /// Adds to sums_ what the tokens of segment j read from the keys and values of the chunk.
  void read_tokens(Index j) {
    const Index stride = state_.stride();
    const Range tokens = chunk_.segment(j);
    const PairSpans spans(tokens);
    float* const scores = scores_.data() + tokens.begin * kChunk;
    pack_columns(chunk_.meet_keys(j), keys_, tokens.end, keys_, packed_keys_.data());
    multiply_columns(chunk_.query() + tokens.begin * keys_, keys_, keys_, packed_keys_.data(),
                     spans.columns(), scores, kChunk, &prefetches_);
    chunk_.decay_scores(j, scores_.data());
    const Index n = chunk_.count();
    // Without decays, the packed values of segment 0 are valid for all segments.
    if (j == 0 || chunk_.values().decays().cells()) {
      pack_rows(chunk_.meet_values(j), values_, n, values_, packed_values_.data());
    }
    multiply_depths(scores, kChunk, n, packed_values_.data(), stride, spans.earlier(),
                    sums_.data() + tokens.begin * stride, stride, true, &prefetches_);
  }

  void write(Index first, const RowsOf<float>& out) const {
    scale_rows({sums_.data(), state_.stride()}, chunk_.count(), values_,
               {.factor = scale_, .cells = chunk_.values().decays().cells()}, out.from(first));
  }

  Index keys_, values_;
  float scale_;
  Index capacity_;
  Chunk chunk_;
  LinearState state_;
  LinearPrefetchQueue prefetches_;
  Buffer packed_keys_, packed_values_, packed_state_, scores_, sums_;
};

}  // namespace

void cpu::linear_forward(const LinearProblem& problem, const LinearOutputs& outputs,
                         const Context&) {
  const LinearCpuCall call(problem);
  const LinearDims& d = call.d;
  const FloatOutput out(outputs.out);
  if (!d.covers_tokens()) out.fill(0);
  float* const final_state = outputs.final_state.as<float>().data();
  for_each_linear_task<ForwardWorker>(
      d, d.heads, [&](ForwardWorker& worker, Index sequence, Index h) {
        worker.run(call.head(sequence, h), call.state(call.initial_state, sequence, h),
                   call.rows(out.data(), sequence, d.heads, h, d.value_dim),
                   final_state + (sequence * d.heads + h) * d.key_dim * d.value_dim);
      });
  out.finish();
}

}  // namespace maskctl::attention
