// The linear family on the CPU: chunks of tokens as matrix products, the state between them.
#include <algorithm>

#include "maskctl/attention/core/rounded.h"
#include "maskctl/attention/linear/linear_backends.h"
#include "maskctl/attention/linear/linear_state.h"
#include "maskctl/attention/linear/linear_tasks.h"

namespace maskctl::attention {
namespace {

Buffer buffer(Index n) { return Buffer(as_size(n)); }

/// One head of one sequence from its first token to its last.
class Worker {
 public:
  explicit Worker(const LinearDims& d)
      : keys_(d.key_dim),
        values_(d.value_dim),
        scale_(static_cast<float>(d.scale)),
        capacity_(std::min(d.longest(), kChunk)),
        chunk_(d, capacity_),
        state_(d),
        packed_keys_(buffer(keys_ * round_up(capacity_, kColumnGroup))),
        packed_values_(buffer(capacity_ * state_.stride())),
        packed_state_(buffer(keys_ * state_.stride())),
        scores_(buffer(round_up(capacity_, kRowGroup) * kChunk)),
        sums_(buffer(round_up(capacity_, kRowGroup) * state_.stride())) {}

  void run(const LinearHead& head, const float* initial_state, RowsOf<float> out,
           float* final_state) {
    state_.load(initial_state);
    for (Index first = 0; first < head.tokens; first += chunk_.count()) {
      chunk_.load(head, first, head.tokens);
      pack_rows(chunk_.value(), values_, chunk_.count(), values_, packed_values_.data());
      state_.enter(chunk_);
      attend();
      write(first, out);
      state_.leave(chunk_, packed_values_.data(), scratch_);
    }
    state_.store(final_state);
  }

 private:
  /// sums_ = what the tokens of the chunk read of each other and of the state.
  void attend() {
    const Index n = chunk_.count(), rows = chunk_.rows(), stride = state_.stride();
    pack_rows(state_.data(), stride, keys_, stride, packed_state_.data());
    multiply(chunk_.state_query(), keys_, rows, keys_, packed_state_.data(), stride, sums_.data(),
             stride, false);
    pack_columns(chunk_.key(), keys_, n, keys_, packed_keys_.data());
    multiply_columns(chunk_.query(), keys_, keys_, packed_keys_.data(), chunk_.columns(),
                     scores_.data(), kChunk);
    chunk_.weigh(scores_.data());
    multiply_depths(scores_.data(), kChunk, n, packed_values_.data(), stride, chunk_.earlier(),
                    sums_.data(), stride);
  }

  void write(Index first, const RowsOf<float>& out) const {
    scale_rows({sums_.data(), state_.stride()}, chunk_.count(), values_,
               {.factor = scale_, .cells = chunk_.value_decays()}, out.from(first));
  }

  Index keys_, values_;
  float scale_;
  Index capacity_;
  Chunk chunk_;
  LinearState state_;
  Buffer packed_keys_, packed_values_, packed_state_, scores_, sums_, scratch_;
};

}  // namespace

LinearAttentionResult cpu_linear_forward(const RecurrentAttentionInputs& in, const LinearDims& d) {
  const LinearCpuCall call(in, d);
  Tensor out(DType::kFloat32, d.out_shape()), final_state(DType::kFloat32, d.state_shape());
  for_each_linear_task<Worker>(d, d.heads, [&](Worker& worker, Index sequence, Index h) {
    worker.run(call.head(sequence, h), call.state(call.initial_state, sequence, h),
               call.rows(out.as<float>().data(), sequence, d.heads, h, d.value_dim),
               final_state.as<float>().data() + (sequence * d.heads + h) * d.key_dim * d.value_dim);
  });
  return {rounded(std::move(out), in.value->dtype()), std::move(final_state)};
}

}  // namespace maskctl::attention
