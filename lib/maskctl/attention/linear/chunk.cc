// Products of decays inside a chunk, and the rows that carry them.
#include "maskctl/attention/linear/chunk.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <span>

#include "maskctl/attention/core/cpu_kernel.h"
#include "maskctl/attention/linear/vectors.h"

namespace maskctl::attention {
namespace {

Buffer ones(Index n) { return Buffer(as_size(n), 1.0f); }
Buffer zeros(Index n) { return Buffer(as_size(n)); }

bool in_range(const float* logs, Index n) {
  int outside = 0;  // by |, which GCC vectorises; NaN is outside
  for (Index x = 0; x < n; ++x) outside |= !(std::abs(logs[x]) <= kMaxLogDecay);
  return outside == 0;
}

/// The running sums of gates after token `first` into logs [count, width], 0 for `first` itself.
/// Returns how many rows stay in range.
Index sum_gates(const LinearHead& head, std::initializer_list<Rows> gates, Index first, Index count,
                Index width, float* logs) {
  std::fill_n(logs, width, 0.0f);
  for (Index t = 1; t < count; ++t) {
    float* const sum = logs + t * width;
    std::copy_n(sum - width, width, sum);
    for (const Rows& gate : gates) {
      if (gate) add_to(next_row(gate, first + t, head.tokens, width), width, sum);
    }
    if (!in_range(sum, width)) return t;
  }
  return count;
}

/// exp of the sum of the gates of one token.
void exp_gates(std::initializer_list<Rows> gates, Index t, Buffer& decays) {
  std::fill(decays.begin(), decays.end(), 0.0f);
  for (const Rows& gate : gates) {
    for (std::size_t x = 0; gate && x < decays.size(); ++x) decays[x] += gate.row(t)[x];
  }
  for (float& x : decays) x = std::exp(x);
}

float head_decay(const LinearHead& head, Index t) {
  return std::exp(head.head_gate + (head.head_gates ? *head.head_gates.row(t) : 0.0f));
}

/// exp of n numbers; x has room for a multiple of kColumnGroup.
void exp_all(float* x, Index n) { exp_and_sum(x, round_up(n, kColumnGroup), 0); }

/// state[x][y] *= by_key[x] * by_head.
void scale_keys(float* state, Index stride, Index columns, std::span<const float> by_key,
                float by_head) {
  for (const float factor : by_key) {
    const float decay = factor * by_head;
    for (Index y = 0; y < columns; ++y) state[y] *= decay;
    state += stride;
  }
}

/// state[x][y] *= by_value[y].
void scale_values(float* state, Index stride, Index rows, std::span<const float> by_value) {
  for (Index x = 0; x < rows; ++x, state += stride) {
    multiply_by(by_value.data(), static_cast<Index>(by_value.size()), state);
  }
}

}  // namespace

Chunk::Chunk(const LinearDims& d, Index capacity)
    : keys_(d.key_dim),
      values_(d.value_dim),
      query_(zeros(round_up(capacity, kRowGroup) * keys_)),
      state_query_(query_.size()),
      key_(query_.size()),
      state_key_(query_.size()),
      value_(zeros(round_up(capacity, kRowGroup) * values_)),
      pair_(zeros(capacity * kChunk)),
      key_decay_(ones(round_up(capacity * keys_, kColumnGroup))),
      value_decay_(ones(round_up(capacity * values_, kColumnGroup))),
      enter_keys_(ones(keys_)),
      enter_values_(ones(values_)) {}

Index Chunk::rows() const { return round_up(count_, kRowGroup); }

void Chunk::load(const LinearHead& head, Index first, Index end) {
  count_ = std::min(end - first, kChunk);
  load_decays(head, first);
  load_pairs(head, first);
  load_keys(head, first);
  load_values(head, first);
}

void Chunk::load_decays(const LinearHead& head, Index first) {
  const auto key_gates = {head.key_gates[0], head.key_gates[1]};
  const bool by_key = head.key_gates[0] || head.key_gates[1];
  if (by_key) count_ = sum_gates(head, key_gates, first, count_, keys_, key_decay_.data());
  if (head.value_gates) {
    count_ = sum_gates(head, {head.value_gates}, first, count_, values_, value_decay_.data());
    exp_all(value_decay_.data(), count_ * values_);
    exp_gates({head.value_gates}, first, enter_values_);
  }
  if (by_key) exp_all(key_decay_.data(), count_ * keys_);
  exp_gates(key_gates, first, enter_keys_);
  const float decay = head_decay(head, first);
  for (float& x : enter_keys_) x *= decay;
}

void Chunk::load_pairs(const LinearHead& head, Index first) {
  pair_[0] = 1;
  for (Index t = 1; t < count_; ++t) {
    const float decay = head_decay(head, first + t);
    float* const row = pair_.data() + t * kChunk;
    for (Index s = 0; s < t; ++s) row[s] = row[s - kChunk] * decay;
    row[t] = 1;
  }
}

void Chunk::load_keys(const LinearHead& head, Index first) {
  const bool gated = head.key_gates[0] || head.key_gates[1];
  const float* const last = key_decay(count_ - 1);
  for (Index t = 0; t < count_; ++t) {
    float *const query = query_.data() + t * keys_, *const key = key_.data() + t * keys_;
    std::copy_n(next_row(head.q, first + t, head.tokens, keys_), keys_, query);
    std::copy_n(next_row(head.k, first + t, head.tokens, keys_), keys_, key);
    if (gated) multiply_by(key_decay(t), keys_, query);
    if (gated) divide_by(key_decay(t), keys_, key);
    scaled_copy(query, from_start(t), keys_, state_query_.data() + t * keys_);
    float* const state_key = state_key_.data() + t * keys_;
    scaled_copy(key, to_end(t), keys_, state_key);
    if (gated) multiply_by(last, keys_, state_key);
  }
  for (Buffer* rows_of : {&query_, &state_query_, &key_, &state_key_}) {
    std::fill_n(rows_of->data() + count_ * keys_, (rows() - count_) * keys_, 0.0f);
  }
}

void Chunk::load_values(const LinearHead& head, Index first) {
  for (Index t = 0; t < count_; ++t) {
    float* const value = value_.data() + t * values_;
    std::copy_n(next_row(head.v, first + t, head.tokens, values_), values_, value);
    if (head.value_gates) divide_by(value_decay(t), values_, value);
  }
  std::fill_n(value_.data() + count_ * values_, (rows() - count_) * values_, 0.0f);
}

void Chunk::weigh(float* scores) const {
  for (Index t = 0; t < count_; ++t) {
    float* const row = scores + t * kChunk;
    const float* const factors = pair_.data() + t * kChunk;
    for (Index s = 0; s <= t; ++s) row[s] *= factors[s];
    std::fill(row + t + 1, row + count_, 0.0f);
  }
}

void Chunk::enter(float* state, Index stride) const {
  scale_keys(state, stride, values_, enter_keys_, 1);
  scale_values(state, stride, keys_, enter_values_);
}

void Chunk::leave_keys(float* state, Index stride) const {
  scale_keys(state, stride, values_, {key_decay(count_ - 1), as_size(keys_)},
             from_start(count_ - 1));
}

void Chunk::leave_values(float* state, Index stride) const {
  scale_values(state, stride, keys_, {value_decay(count_ - 1), as_size(values_)});
}

}  // namespace maskctl::attention
