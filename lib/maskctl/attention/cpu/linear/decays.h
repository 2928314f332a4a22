// Products of the decays of a chunk of tokens, per key or per value, and its keys or values as
// later tokens meet them.
#pragma once

#include <array>
#include <span>

#include "maskctl/attention/cpu/linear/vectors.h"

namespace maskctl::attention {

// The chunk falls into segments. P_t is the product of the decays after the first token of t's
// segment, up to t; it and its inverse fit f32. across(j) are the decays after the first token of
// segment j up to the first one of the next, or, in the last segment, up to the last token. So
// token s of segment i reaches t of a later segment j by
//   1 / P_s * across(i) * ... * across(j - 1) * P_t,
// in which each product from the left is that of decays: strong ones end at 0, and nothing
// overflows that the recurrence would not.
class Decays {
 public:
  /// For at most `capacity` tokens.
  Decays(Index width, Index capacity);

  /// Starts a chunk. Each gates[i] begins at the chunk's first token; the two are added, and one
  /// without data counts as 0.
  void start(const std::array<Rows, 2>& gates);
  /// Takes the segment that starts with token `begin`, and returns where it must end: `end` or
  /// before, after `begin`.
  Index add_segment(Index begin, Index end);
  /// Multiplies the decays; segment j is tokens [bounds[j], bounds[j + 1]), bounds[0] = 0.
  void finish(std::span<const Index> bounds);

  Index width() const { return width_; }

  // Null where all are 1.
  const float* enter() const { return any_ ? enter_.data() : nullptr; }  // of the first token
  const float* cells() const { return any_ ? cells_.data() : nullptr; }  // P_t, [count, width]
  const float* across(Index j) const { return any_ ? across_.data() + j * width_ : nullptr; }
  /// The decays from the first token to the first one of segment j.
  const float* before(Index j) const {
    return any_ && j > 0 ? before_.data() + j * width_ : nullptr;
  }
  /// The decays from the first token of segment j to the last token.
  const float* after(Index j) const { return any_ ? after_.data() + j * width_ : nullptr; }

 private:
  /// exp of the gates of one token; `to` has room for a multiple of kColumnGroup.
  void put_decays(Index token, float* to) const;
  /// Row j of `to` is row a of `from` times row b of `by`.
  void multiply_rows(const Buffer& from, Index a, const Buffer& by, Index b, Buffer& to,
                     Index j) const;

  Index width_;
  bool any_ = false;
  std::array<Rows, 2> gates_;
  Buffer enter_, cells_, across_, before_, after_;
};

/// Rows of keys or values, in the order of time, in the notation of Decays.
class DecayedRows {
 public:
  DecayedRows(Index width, Index capacity);

  Decays& decays() { return decays_; }
  const Decays& decays() const { return decays_; }
  Index width() const { return width_; }

  /// Loads `count` rows. decays() must already be of the same tokens.
  void load(const Rows& from, Index count);
  /// The rows divided by P.
  const float* rows() const { return rows_.data(); }
  /// Rows [0, segment.end) as the tokens of segment j, times their P_t, read them: rows of earlier
  /// segments are decayed to the first token of segment j. To be called for each j in turn.
  const float* meet(Index j, Range segment);
  /// All rows decayed to the last token and multiplied by by_row, if given; meet() must not be
  /// called afterwards. Segment j is tokens [bounds[j], bounds[j + 1]).
  const float* leave(std::span<const Index> bounds, const float* by_row);

 private:
  Index width_;
  Decays decays_;
  Buffer rows_, moved_;
};

}  // namespace maskctl::attention
