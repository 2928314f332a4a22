// A stretch of tokens of one head with its decays taken out, so that it is matrix products.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "maskctl/attention/core/cpu_kernel.h"
#include "maskctl/attention/linear/linear_vectors.h"

namespace maskctl::attention {

using Buffer = std::vector<float>;

/// Most tokens of a chunk; divides by kRowGroup and kColumnGroup.
inline constexpr Index kChunk = 96;

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
  const float* query() const { return query_.data(); }  // q P
  const float* state_query() const {                    // q P pair[t][0]
    return by_head_ ? state_query_.data() : query();
  }
  const float* key() const { return key_.data(); }  // k / P
  const float* state_key() const {                  // k / P * P_L pair[L][s]
    return by_head_ || by_key_ ? state_key_.data() : key();
  }
  const float* value() const { return value_.data(); }  // v / R

  /// scores[t * kChunk + s] *= pair[t][s], 0 for s > t; only within earlier().
  void weigh(float* scores) const;

  // What each group of kRowGroup rows of a product of pairs of tokens needs, as in cpu_kernel.h.
  std::span<const Range> columns() const { return {columns_.data(), groups()}; }  // of scores
  std::span<const Range> earlier() const { return {earlier_.data(), groups()}; }  // s <= t
  std::span<const Range> later() const { return {later_.data(), groups()}; }      // t >= s

  // State [K, stride]: multiplied by the decays of the first token, by P_L pair[L][0], by R_L.
  void enter(float* state, Index stride) const;
  void leave_keys(float* state, Index stride) const;
  void leave_values(float* state, Index stride) const;

  // Factors of the tokens, null where all are 1.
  const float* key_decays() const { return by_key_ ? key_decay_.data() : nullptr; }        // P_t
  const float* value_decays() const { return by_value_ ? value_decay_.data() : nullptr; }  // R_t
  const float* from_start() const { return by_head_ ? from_start_.data() : nullptr; }  // pair[t][0]
  const float* to_end() const { return by_head_ ? pair_row(count_ - 1) : nullptr; }    // pair[L][t]
  const float* last_key_decay() const {                                                // P_L
    return by_key_ ? key_decay_.data() + (count_ - 1) * keys_ : nullptr;
  }

 private:
  void load_decays(const LinearHead& head, Index first);
  void load_pairs(const LinearHead& head, Index first);
  void load_spans();
  void load_keys(const LinearHead& head, Index first);
  void load_values(const LinearHead& head, Index first);
  const float* pair_row(Index t) const { return pair_.data() + t * kChunk; }
  std::size_t groups() const { return as_size(rows() / kRowGroup); }

  Index keys_, values_, count_ = 0;
  bool by_key_ = false, by_value_ = false, by_head_ = false;  // which decays there are
  Buffer query_, state_query_, key_, state_key_, value_, pair_, from_start_;
  Buffer key_decay_, value_decay_;
  Buffer enter_keys_, enter_values_;  // the decays of the first token
  float enter_head_ = 1;
  float pair_gate_ = 0;  // g_gamma that pair_ was made of; NaN: of gates that vary
  Index pair_rows_ = 1;  // of pair_, that are made
  std::array<Range, kChunk / kRowGroup> columns_, earlier_, later_;
};

}  // namespace maskctl::attention
