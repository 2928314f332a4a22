// Products of the decays of a chunk of tokens, per key or per value, and the keys or values of the
// chunk as later tokens read them.
#pragma once

#include <array>
#include <span>

#include "maskctl/kernels/cpu/linear/vectors.h"

namespace maskctl::attention {

// A chunk is split into segments. P_t is the product of the decays after the first token of t's
// segment, up to and including t; a segment ends before P_t or 1 / P_t would overflow f32.
// across(j) is the product of the decays after the first token of segment j, up to the first token
// of segment j + 1 (in the last segment, up to the last token). So the decays from token s of
// segment i to token t of a later segment j are
//   1 / P_s * across(i) * ... * across(j - 1) * P_t.
// Computed from the left, every partial product is itself a product of decays: strong decays end at
// 0, and nothing overflows that would not overflow in the recurrence.
class Decays {
 public:
  /// `width` is K or V; `capacity` is the largest number of tokens in a chunk.
  Decays(Index width, Index capacity);

  /// Starts a chunk. gates[0] and gates[1] begin at the first token of the chunk and are added; a
  /// gate without data counts as 0.
  void start(const std::array<Rows, 2>& gates);
  /// Adds the segment that begins with token `begin`. Returns where it must end: after `begin`, and
  /// at `end` at the latest.
  Index add_segment(Index begin, Index end);
  /// Computes the products. Segment j has the tokens [bounds[j], bounds[j + 1]); bounds[0] = 0.
  void finish(std::span<const Index> bounds);

  Index width() const { return width_; }

  // Each of the following arrays is null if all its factors are 1.
  /// The decays of the first token.
  const float* enter() const { return any_ ? enter_.data() : nullptr; }
  /// P_t of each token t, [count, width]: the product of the decays after the first token of t's
  /// segment, up to and including t.
  const float* cells() const { return any_ ? cells_.data() : nullptr; }
  const float* across(Index j) const { return any_ ? across_.data() + j * width_ : nullptr; }
  /// The product of the decays after the first token of the chunk, up to the first token of segment
  /// j.
  const float* before(Index j) const {
    return any_ && j > 0 ? before_.data() + j * width_ : nullptr;
  }
  /// The product of the decays after the first token of segment j, up to the last token of the
  /// chunk.
  const float* after(Index j) const { return any_ ? after_.data() + j * width_ : nullptr; }

 private:
  /// exp of the summed gates of one token; `to` has room for a multiple of kColumnGroup.
  void put_decays(Index token, float* to) const;
  /// Row j of `to` = row a of `from` * row b of `by`, element by element.
  void multiply_rows(const Buffer& from, Index a, const Buffer& by, Index b, Buffer& to,
                     Index j) const;

  Index width_;
  bool any_ = false;
  std::array<Rows, 2> gates_;
  Buffer enter_, cells_, across_, before_, after_;
};

/// Rows of keys or values in the order of time, in the notation of Decays.
class DecayedRows {
 public:
  DecayedRows(Index width, Index capacity);

  Decays& decays() { return decays_; }
  const Decays& decays() const { return decays_; }
  Index width() const { return width_; }

  /// Loads `count` rows. decays() must already be loaded for the same tokens.
  void load(const Rows& from, Index count);
  /// The loaded rows, each divided by its P_t (see Decays).
  const float* rows() const { return rows_.data(); }
  /// Returns rows [0, segment.end), ready to be multiplied with tokens of segment j, which bring
  /// their own P_t: rows of earlier segments are decayed up to the first token of segment j. Must
  /// be called for j = 0, 1, 2, ... in order.
  const float* meet(Index j, Range segment);
  /// All rows, decayed to the last token of the chunk and, if by_row is given, multiplied by it.
  /// Segment j has the tokens [bounds[j], bounds[j + 1]). Do not call meet() afterwards.
  const float* leave(std::span<const Index> bounds, const float* by_row);

 private:
  Index width_;
  Decays decays_;
  Buffer rows_, moved_;
};

}  // namespace maskctl::attention
