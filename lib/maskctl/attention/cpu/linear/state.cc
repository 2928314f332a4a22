// The state's way in and out, and its update.
#include "maskctl/attention/cpu/linear/state.h"

#include <algorithm>

namespace maskctl::attention {

void LinearState::load(const float* state) {
  if (!state) {
    std::fill(cells_.begin(), cells_.end(), 0.0f);
    return;
  }
  for (Index x = 0; x < keys_; ++x)
    std::copy_n(state + x * values_, values_, data() + x * stride());
}

void LinearState::store(float* state) const {
  for (Index x = 0; x < keys_; ++x)
    std::copy_n(data() + x * stride(), values_, state + x * values_);
}

void LinearState::add_product(const float* rows, Index count, const float* packed_b,
                              PrefetchQueue* prefetches) {
  std::ranges::fill(all_, Range{0, count});
  multiply_transposed(rows, keys_, count, packed_b, stride(), all_, data(), stride(), prefetches);
}

void LinearState::leave(Chunk& chunk, float* packed, PrefetchQueue* prefetches) {
  chunk.leave(data(), stride());
  const float* const keys = chunk.leave_keys();
  pack_rows(chunk.leave_values(), values_, chunk.count(), values_, packed);
  add_product(keys, chunk.count(), packed, prefetches);
}

void read_state(const Chunk& chunk, const float* state, Index stride, float* packed, float* sums) {
  const Index keys = chunk.keys().width();
  pack_rows(state, stride, keys, stride, packed);
  multiply(chunk.state_query(), keys, chunk.rows(), keys, packed, stride, sums, stride, false);
  chunk.scale_before(chunk.values().decays(), nullptr, {sums, stride}, {sums, stride});
}

}  // namespace maskctl::attention
