// The update of the state by a chunk.
#include "maskctl/attention/linear/linear_state.h"

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
                              Buffer& scratch) {
  const Index padded = round_up(keys_, kRowGroup);
  scratch.resize(as_size(padded * kChunk));
  transpose(rows, keys_, count, keys_, scratch.data(), kChunk);
  std::fill(scratch.begin() + keys_ * kChunk, scratch.end(), 0.0f);
  multiply(scratch.data(), kChunk, padded, count, packed_b, stride(), data(), stride(), true);
}

void LinearState::leave(const Chunk& chunk, const float* packed_values, Buffer& scratch) {
  chunk.leave_keys(data(), stride());
  add_product(chunk.state_key(), chunk.count(), packed_values, scratch);
  chunk.leave_values(data(), stride());
}

}  // namespace maskctl::attention
