// Products of decays inside a chunk, and the rows that carry them.
#include "maskctl/attention/linear/chunk.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace maskctl::attention {
namespace {

Buffer ones(Index n) { return Buffer(as_size(n), 1.0f); }
Buffer zeros(Index n) { return Buffer(as_size(n)); }

/// exp of the sum of the gates of one token.
void exp_gates(std::span<const Rows> gates, Index t, Buffer& decays) {
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

void scale_state(float* state, Index stride, Index rows, Index columns, const Scaling& by) {
  if (!by.is_one()) scale_rows({state, stride}, rows, columns, by, {state, stride});
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
      from_start_(ones(capacity)),
      key_decay_(ones(round_up(capacity * keys_, kColumnGroup))),
      value_decay_(ones(round_up(capacity * values_, kColumnGroup))),
      enter_keys_(ones(keys_)),
      enter_values_(ones(values_)) {}

Index Chunk::rows() const { return round_up(count_, kRowGroup); }

void Chunk::load(const LinearHead& head, Index first, Index end) {
  count_ = std::min(end - first, kChunk);
  by_key_ = head.key_gates[0] || head.key_gates[1];
  by_value_ = bool(head.value_gates);
  by_head_ = head.head_gates || head.head_gate != 0;
  load_decays(head, first);
  if (by_head_) load_pairs(head, first);
  load_spans();
  load_keys(head, first);
  load_values(head, first);
}

void Chunk::load_decays(const LinearHead& head, Index first) {
  const Rows by_key[] = {head.key_gates[0].from(first), head.key_gates[1].from(first)};
  const Rows by_value[] = {head.value_gates.from(first)};
  if (by_key_) count_ = sum_gates(by_key, count_, keys_, key_decay_.data());
  if (by_value_) {
    count_ = sum_gates(by_value, count_, values_, value_decay_.data());
    exp_all(value_decay_.data(), count_ * values_);
    exp_gates(by_value, 0, enter_values_);
  }
  if (by_key_) {
    exp_all(key_decay_.data(), count_ * keys_);
    exp_gates(by_key, 0, enter_keys_);
  }
}

void Chunk::load_pairs(const LinearHead& head, Index first) {
  enter_head_ = head_decay(head, first);
  // Powers of one decay serve all chunks of the head, and longer ones begin like shorter ones.
  if (head.head_gates || head.head_gate != pair_gate_) pair_rows_ = 1;
  pair_[0] = 1;
  for (; pair_rows_ < count_; ++pair_rows_) {
    const Index t = pair_rows_;
    const float decay = head_decay(head, first + t);
    float* const row = pair_.data() + t * kChunk;
    scale_rows({row - kChunk, 0}, 1, t, {decay}, {row, 0});
    row[t] = 1;
    from_start_[as_size(t)] = row[0];
  }
  pair_gate_ = head.head_gates ? std::numeric_limits<float>::quiet_NaN() : head.head_gate;
}

void Chunk::load_spans() {
  for (std::size_t g = 0; g < groups(); ++g) {
    const Index begin = static_cast<Index>(g) * kRowGroup;
    const Index end = std::min(begin + kRowGroup, count_);
    columns_[g] = {0, round_up(end, kColumnGroup)};
    earlier_[g] = {0, end};
    later_[g] = {begin, count_};
  }
}

void Chunk::load_keys(const LinearHead& head, Index first) {
  const float* const decays = key_decays();
  const RowsOf<float> query{query_.data(), keys_}, key{key_.data(), keys_};
  scale_rows(head.q.from(first), count_, keys_, {.cells = decays}, query);
  scale_rows(head.k.from(first), count_, keys_, {.cells = decays, .divides = true}, key);
  const Rows queries{query_.data(), keys_}, keys{key_.data(), keys_};
  if (by_head_) {
    scale_rows(queries, count_, keys_, {.by_row = from_start()}, {state_query_.data(), keys_});
  }
  if (by_head_ || by_key_) {
    scale_rows(keys, count_, keys_, {.by_row = to_end(), .by_column = last_key_decay()},
               {state_key_.data(), keys_});
  }
  for (Buffer* rows_of : {&query_, &state_query_, &key_, &state_key_}) {
    std::fill_n(rows_of->data() + count_ * keys_, (rows() - count_) * keys_, 0.0f);
  }
}

void Chunk::load_values(const LinearHead& head, Index first) {
  scale_rows(head.v.from(first), count_, values_, {.cells = value_decays(), .divides = true},
             {value_.data(), values_});
  std::fill_n(value_.data() + count_ * values_, (rows() - count_) * values_, 0.0f);
}

void Chunk::weigh(float* scores) const {
  for (Index t = 0; t < count_; ++t) {
    float* const row = scores + t * kChunk;
    if (by_head_) scale_rows({row, 0}, 1, t, {.cells = pair_row(t)}, {row, 0});
    std::fill(row + t + 1, row + round_up(t + 1, kRowGroup), 0.0f);
  }
}

void Chunk::enter(float* state, Index stride) const {
  scale_state(state, stride, keys_, values_,
              {.factor = by_head_ ? enter_head_ : 1,
               .by_row = by_key_ ? enter_keys_.data() : nullptr,
               .by_column = by_value_ ? enter_values_.data() : nullptr});
}

void Chunk::leave_keys(float* state, Index stride) const {
  scale_state(
      state, stride, keys_, values_,
      {.factor = by_head_ ? from_start_[as_size(count_ - 1)] : 1, .by_row = last_key_decay()});
}

void Chunk::leave_values(float* state, Index stride) const {
  const float* const decays = value_decays();
  scale_state(state, stride, keys_, values_,
              {.by_column = decays ? decays + (count_ - 1) * values_ : nullptr});
}

}  // namespace maskctl::attention
