// A chunk of tokens of one head. Its decays are factored out, so that all work becomes matrix
// products. Also the state between chunks, padded for these products.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "maskctl/attention/cpu/kernel.h"
#include "maskctl/kernels/cpu/linear/decays.h"
#include "maskctl/kernels/problems/linear_problem.h"

namespace maskctl::attention {

/// The largest number of tokens in a chunk; a multiple of kRowGroup and kColumnGroup.
inline constexpr Index kChunk = 96;

/// The number of tokens in each chunk of a call; the last chunk of a sequence may have fewer.
inline Index chunk_tokens(const LinearDims& d) {
  // In larger chunks, pairs of tokens cost more than larger products gain.
  constexpr Index kUsual = 64;
  const Index wanted = d.chunk_size > 0 ? std::min(d.chunk_size, kChunk) : kUsual;
  return std::clamp<Index>(d.longest(), 1, wanted);
}

/// How many rows an array of pairs of up to `capacity` tokens needs. A segment may begin at any
/// token, so its last group of kRowGroup rows may extend past the last token.
constexpr Index pair_rows(Index capacity) { return round_up(capacity, kRowGroup) + kRowGroup; }

/// The ranges of columns (spans, see cpu/kernel.h) that each group of kRowGroup rows needs in a
/// product over the pairs of tokens (t, s) with s <= t and t in a segment of a chunk.
class PairSpans {
 public:
  explicit PairSpans(Range segment);
  // For products whose row r is token t = segment.begin + r, which need the tokens s <= t:
  // columns() has them as columns of the scores, in whole vectors, and earlier() as terms of a sum.
  std::span<const Range> columns() const { return {columns_.data(), groups_}; }
  std::span<const Range> earlier() const { return {earlier_.data(), groups_}; }
  // For products whose rows are the tokens s, starting at 0, and which need the tokens t >= s of
  // the segment; spans count t from segment.begin.
  std::span<const Range> later() const { return {later_.data(), later_groups_}; }

 private:
  std::size_t groups_, later_groups_;
  std::array<Range, kChunk / kRowGroup> columns_, earlier_, later_;
};

// Notation as in Decays, where P has the decays per key and R those of gv (per value). pair[t][s]
// is the product of the decays per head after token s up to token t. The decays of the first token
// are applied to the state before it (enter()). Let h be the state after that, and L the last
// token. If the chunk has one segment,
//   o_t = R_t * (pair[t][0] (q_t P_t) h + sum_(s <= t) pair[t][s] (q_t P_t).(k_s / P_s) v_s / R_s)
//   next state = R_L * (pair[L][0] P_L h + sum_s (pair[L][s] P_L k_s / P_s) (v_s / R_s)^T).
// If it has several, h is also multiplied by before(j), and k / P and v / R come from DecayedRows.
// Only terms with the same factor are ever added, so no cancellation is introduced. pair is
// computed by multiplication, which works for every decay, also exp(-inf) = 0.
class Chunk {
 public:
  /// A chunk of at most `capacity` tokens; capacity <= kChunk.
  Chunk(const LinearDims& d, Index capacity);

  /// Loads keys, values and decays of up to `capacity` tokens, from token `first` of the head on.
  void load(const LinearHead& head, Index first);
  /// Loads the queries of the same tokens.
  void load_queries(const LinearHead& head, Index first);

  Index count() const { return bounds_.back(); }
  /// count() rounded up to whole row groups.
  Index rows() const { return round_up(count(), kRowGroup); }
  Index segments() const { return static_cast<Index>(bounds_.size()) - 1; }
  Range segment(Index j) const { return {bounds_[as_size(j)], bounds_[as_size(j) + 1]}; }

  // Queries [pair_rows, K]; rows past count() are undefined. query() has q_t P_t, for products with
  // keys; state_query() has q_t P_t before(j) pair[t][0], for products with the state.
  const float* query() const { return query_.data(); }
  const float* state_query() const { return state_query_; }

  /// Whether segment j begins with a token whose decay per head is 0. Every such token begins a new
  /// segment.
  bool forgets(Index j) const;

  const DecayedRows& keys() const { return keys_; }
  const DecayedRows& values() const { return values_; }
  const float* meet_keys(Index j) { return keys_.meet(j, segment(j)); }
  const float* meet_values(Index j) { return values_.meet(j, segment(j)); }
  /// Returns the keys as they are added to the state: each is multiplied by all decays between its
  /// own token s and the last token L of the chunk, including pair[L][s].
  const float* leave_keys() { return keys_.leave(bounds_, to_end()); }
  const float* leave_values() { return values_.leave(bounds_, nullptr); }

  /// Multiplies scores[t * kChunk + s] by pair[t][s] for t in segment j. Sets scores to 0 for s >
  /// t, and in the rows that pad the segment to whole row groups, as far as the products described
  /// by PairSpans read them; the rest is arbitrary. The scores with s = t are moved to own[t], if
  /// `own` is given.
  void decay_scores(Index j, float* scores, float* own = nullptr) const;

  // Multiply a state [K, stride] by the decays of the first token (enter), or by all later decays
  // (leave).
  void enter(float* state, Index stride) const;
  void leave(float* state, Index stride) const;

  /// Multiplies each row [count, stride] of keys or values by the row's factor in by_row and by
  /// before(j), the decays from the chunk's first token to the first token of the row's segment j.
  void scale_before(const Decays& decays, const float* by_row, const Rows& from,
                    const RowsOf<float>& to) const;

  // Factors of each token t from its decays per head; null if all are 1. from_start() has
  // pair[t][0], the decays after the first token of the chunk, up to t; to_end() has pair[L][t],
  // the decays after t, up to the last token L.
  const float* from_start() const { return by_head_ ? from_start_.data() : nullptr; }
  const float* to_end() const { return by_head_ ? pair_row(count() - 1) : nullptr; }

 private:
  void load_bounds(const LinearHead& head, Index first);
  void load_pairs(const LinearHead& head, Index first);
  const float* pair_row(Index t) const { return pair_.data() + t * kChunk; }

  Index capacity_;
  bool by_head_ = false;
  std::vector<Index> bounds_;  // where the segments begin, and the end of the last
  DecayedRows keys_, values_;
  Buffer query_, moved_query_, pair_, from_start_;
  const float* state_query_ = nullptr;
  float enter_head_ = 1;
  float pair_gate_ = 0;  // the g_gamma that pair_ was made with; NaN if gates vary over time
  Index pair_rows_ = 1;  // number of rows of pair_ that are valid
};

/// A state [K,V] in rows of stride() floats; the padding of each row stays 0.
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
  /// Copy the state from or to an array [K,V] without padding. load(nullptr) sets the state to 0.
  void load(const float* state);
  void store(float* state) const;

  /// Advances the state from entry to the chunk (after enter()) to the end of the chunk. `packed`
  /// has room for chunk.count() * stride() floats.
  void leave(Chunk& chunk, float* packed, PrefetchQueue* prefetches = nullptr);
  /// state += rows^T b, where rows is [count,K] (readable up to kRowGroup floats past its end) and
  /// b is [count,V], packed by pack_rows().
  void add_product(const float* rows, Index count, const float* packed_b,
                   PrefetchQueue* prefetches = nullptr);

 private:
  Index keys_, values_;
  Buffer cells_;            // rows past K are undefined
  std::vector<Range> all_;  // the range of all rows, once for each row group
};

/// sums [count, stride] = what the tokens of a chunk read from the state [K, stride] on entry,
/// without their decays per value R_t. `packed` has room for K * stride floats.
void read_state(const Chunk& chunk, const float* state, Index stride, float* packed, float* sums);

}  // namespace maskctl::attention
