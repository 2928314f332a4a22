// A stretch of tokens of one head with its decays taken out, so that it is matrix products.
#pragma once

#include <vector>

#include "maskctl/attention/linear/linear_heads.h"

namespace maskctl::attention {

using Buffer = std::vector<float>;

/// Most tokens of a chunk; divides by kRowGroup and kColumnGroup.
inline constexpr Index kChunk = 96;
/// A chunk ends where the logarithm of a product of its decays per key or value leaves +-this, so
/// that neither the product nor its inverse overflows.
inline constexpr float kMaxLogDecay = 30;

// The decays of the first token act on the state before it (`enter`). Those after the first, up to
// token t, are P_t[k] * R_t[v] * pair[t][0]: P from the gates per key, R from gv, pair from those
// per head. Token s reaches token t >= s by P_t / P_s * R_t / R_s * pair[t][s]; hence, for the
// state h that was entered with and the last token L,
//   o_t = R_t * (pair[t][0] (q_t P_t) h + sum_(s <= t) pair[t][s] (q_t P_t).(k_s / P_s) v_s / R_s)
//   next state = R_L * (pair[L][0] P_L h + sum_s (pair[L][s] P_L k_s / P_s) (v_s / R_s)^T).
// Terms only ever meet others with the same factor, so nothing cancels that did not before. pair is
// made by multiplication, which any decay can take, exp(-inf) = 0 too.
class Chunk {
 public:
  /// `capacity` tokens at most, itself at most kChunk.
  Chunk(const LinearDims& d, Index capacity);

  /// Takes tokens from `first` on: at least one, at most up to `end`.
  void load(const LinearHead& head, Index first, Index end);
  Index count() const { return count_; }
  /// count() rounded up to the rows of a product.
  Index rows() const;

  // [rows, K] and [rows, V], 0 past count.
  const float* query() const { return query_.data(); }              // q P
  const float* state_query() const { return state_query_.data(); }  // q P pair[t][0]
  const float* key() const { return key_.data(); }                  // k / P
  const float* state_key() const { return state_key_.data(); }      // k / P * P_L pair[L][s]
  const float* value() const { return value_.data(); }              // v / R

  /// scores[t * kChunk + s] *= pair[t][s], 0 for s > t.
  void weigh(float* scores) const;

  // State [K, stride]: multiplied by the decays of the first token, by P_L pair[L][0], by R_L.
  void enter(float* state, Index stride) const;
  void leave_keys(float* state, Index stride) const;
  void leave_values(float* state, Index stride) const;

  const float* key_decay(Index t) const { return key_decay_.data() + t * keys_; }        // P_t
  const float* value_decay(Index t) const { return value_decay_.data() + t * values_; }  // R_t
  float from_start(Index t) const { return pair_[as_size(t * kChunk)]; }             // pair[t][0]
  float to_end(Index t) const { return pair_[as_size((count_ - 1) * kChunk + t)]; }  // pair[L][t]

 private:
  void load_decays(const LinearHead& head, Index first);
  void load_pairs(const LinearHead& head, Index first);
  void load_keys(const LinearHead& head, Index first);
  void load_values(const LinearHead& head, Index first);

  Index keys_, values_, count_ = 0;
  Buffer query_, state_query_, key_, state_key_, value_, pair_;
  Buffer key_decay_, value_decay_;
  Buffer enter_keys_, enter_values_;  // the decays of the first token
};

}  // namespace maskctl::attention
