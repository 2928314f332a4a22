// A chunk of tokens of one head with its decays taken out, so that all work is matrix products; and
// the state between chunks, padded for them.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "maskctl/attention/cpu/kernel.h"
#include "maskctl/attention/cpu/linear/decays.h"
#include "maskctl/attention/problems/linear_problem.h"

namespace maskctl::attention {

/// The largest number of tokens of a chunk; a multiple of kRowGroup and kColumnGroup.
inline constexpr Index kChunk = 96;

/// Tokens of a chunk of a call; the last one of a sequence may have fewer.
inline Index chunk_tokens(const LinearDims& d) {
  constexpr Index kUsual = 64;  // more pairs cost more than the larger products gain
  const Index wanted = d.chunk_size > 0 ? std::min(d.chunk_size, kChunk) : kUsual;
  return std::clamp<Index>(d.longest(), 1, wanted);
}

/// Rows of an array of pairs of tokens, for up to `capacity` tokens. A segment may begin at any
/// token, so its groups of kRowGroup rows may end past the last token.
constexpr Index pair_rows(Index capacity) { return round_up(capacity, kRowGroup) + kRowGroup; }

/// The spans, as in cpu/kernel.h, that each group of kRowGroup rows needs of a product of the pairs
/// (t, s <= t), t in a segment.
class PairSpans {
 public:
  explicit PairSpans(Range segment);
  // Rows are tokens t, from segment.begin on.
  std::span<const Range> columns() const { return {columns_.data(), groups_}; }  // of scores
  std::span<const Range> earlier() const { return {earlier_.data(), groups_}; }  // s <= t
  // Rows are tokens s, from 0 on; in numbers of t since segment.begin.
  std::span<const Range> later() const { return {later_.data(), later_groups_}; }  // t >= s

 private:
  std::size_t groups_, later_groups_;
  std::array<Range, kChunk / kRowGroup> columns_, earlier_, later_;
};

// In the notation of Decays, with P of the gates per key, R those of gv, and pair[t][s] the
// product of the decays per head after token s up to token t. The decays of the first token act on
// the state before it (`enter`). For the state h that was entered with and the last token L, within
// one segment,
//   o_t = R_t * (pair[t][0] (q_t P_t) h + sum_(s <= t) pair[t][s] (q_t P_t).(k_s / P_s) v_s / R_s)
//   next state = R_L * (pair[L][0] P_L h + sum_s (pair[L][s] P_L k_s / P_s) (v_s / R_s)^T);
// with more of them h gets the factors before(j), k / P and v / R those of DecayedRows. Terms only
// ever meet others with the same factor, so nothing cancels that did not before. pair is made by
// multiplication, which any decay can take, exp(-inf) = 0 too.
class Chunk {
 public:
  /// For at most `capacity` tokens; capacity <= kChunk.
  Chunk(const LinearDims& d, Index capacity);

  /// Loads what the state needs of `capacity` tokens from `first` on, or of all that are left.
  void load(const LinearHead& head, Index first);
  /// Loads the queries of the same tokens.
  void load_queries(const LinearHead& head, Index first);

  Index count() const { return bounds_.back(); }
  /// count() rounded up to the rows of a product.
  Index rows() const { return round_up(count(), kRowGroup); }
  Index segments() const { return static_cast<Index>(bounds_.size()) - 1; }
  Range segment(Index j) const { return {bounds_[as_size(j)], bounds_[as_size(j) + 1]}; }

  // [pair_rows, K]; rows past count() are undefined.
  const float* query() const { return query_.data(); }       // q P
  const float* state_query() const { return state_query_; }  // q P before(j) pair[t][0]

  /// Whether the decay per head of the first token of segment j is 0; such tokens begin one.
  bool forgets(Index j) const;

  const DecayedRows& keys() const { return keys_; }
  const DecayedRows& values() const { return values_; }
  const float* meet_keys(Index j) { return keys_.meet(j, segment(j)); }
  const float* meet_values(Index j) { return values_.meet(j, segment(j)); }
  /// The keys as the state takes them in: decayed to the last token, and times pair[L][s].
  const float* leave_keys() { return keys_.leave(bounds_, to_end()); }
  const float* leave_values() { return values_.leave(bounds_, nullptr); }

  /// scores[t * kChunk + s] *= pair[t][s], and 0 for s > t and in the rows of the last group past
  /// the segment; only within earlier() and later(). Those with s = t go to own[t], if given.
  void decay_scores(Index j, float* scores, float* own = nullptr) const;

  // Multiply a state [K, stride] by the decays of the first token, or by all decays after it.
  void enter(float* state, Index stride) const;
  void leave(float* state, Index stride) const;

  /// Rows [count, stride] of keys or values times before(j) of their segments, and by_row.
  void scale_before(const Decays& decays, const float* by_row, const Rows& from,
                    const RowsOf<float>& to) const;

  // Factors of the tokens, null where all are 1.
  const float* from_start() const { return by_head_ ? from_start_.data() : nullptr; }  // pair[t][0]
  const float* to_end() const { return by_head_ ? pair_row(count() - 1) : nullptr; }   // pair[L][t]

 private:
  void load_bounds(const LinearHead& head, Index first);
  void load_pairs(const LinearHead& head, Index first);
  const float* pair_row(Index t) const { return pair_.data() + t * kChunk; }

  Index capacity_;
  bool by_head_ = false;
  std::vector<Index> bounds_;  // bounds of the segments
  DecayedRows keys_, values_;
  Buffer query_, moved_query_, pair_, from_start_;
  const float* state_query_ = nullptr;
  float enter_head_ = 1;
  float pair_gate_ = 0;  // the g_gamma that made pair_; NaN: gates that vary
  Index pair_rows_ = 1;  // rows of pair_ that are made
};

/// [K,V] in rows of stride() floats; the padding of a row stays 0.
class LinearState {
 public:
  explicit LinearState(const LinearDims& d)
      : keys_(d.key_dim),
        values_(d.value_dim),
        cells_(as_size(round_up(keys_, kRowGroup) * stride())),
        all_(as_size(ceil_div(keys_, kRowGroup))) {}

  Index stride() const { return round_up(values_, kColumnGroup); }
  float* data() { return cells_.data(); }
  const float* data() const { return cells_.data(); }
  const Buffer& cells() const { return cells_; }
  /// Copy from and to [K,V] without padding; null: 0.
  void load(const float* state);
  void store(float* state) const;

  /// Takes the state from the one that the chunk was entered with to the one after its last token.
  /// packed holds chunk.count() * stride() floats.
  void leave(Chunk& chunk, float* packed, PrefetchQueue* prefetches = nullptr);
  /// += rows^T b, rows [count,K], readable up to kRowGroup floats past their end, and b [count,V]
  /// packed by rows.
  void add_product(const float* rows, Index count, const float* packed_b,
                   PrefetchQueue* prefetches = nullptr);

 private:
  Index keys_, values_;
  Buffer cells_;            // rows past K are undefined
  std::vector<Range> all_;  // all rows, for each group of a product
};

/// sums [count, stride] = what the tokens of a chunk, times their R, read of the state [K, stride]
/// it enters with. packed holds K * stride floats.
void read_state(const Chunk& chunk, const float* state, Index stride, float* packed, float* sums);

}  // namespace maskctl::attention
