// Keys or values of a chunk as its later tokens meet them.
#pragma once

#include "maskctl/attention/cpu/linear/decays.h"

namespace maskctl::attention {

/// Rows of `width`, in the order of time, in the notation of Decays.
class DecayedRows {
 public:
  DecayedRows(Index width, Index capacity);

  Decays& decays() { return decays_; }
  const Decays& decays() const { return decays_; }
  Index width() const { return width_; }

  /// Takes `count` rows. decays() must already be those of the same tokens.
  void load(const Rows& from, Index count);
  /// The rows divided by P.
  const float* rows() const { return rows_.data(); }
  /// Rows [0, segment.end) as the tokens of segment j, times their P_t, read them: rows of earlier
  /// segments are decayed to the first token of segment j. To be called for each j in turn.
  const float* meet(Index j, Range segment);
  /// All rows decayed to the last token and multiplied by by_row, if given; meet() must not be
  /// called afterwards. Segment j is of the tokens [bounds[j], bounds[j + 1]).
  const float* leave(std::span<const Index> bounds, const float* by_row);

 private:
  Index width_;
  Decays decays_;
  Buffer rows_, moved_;
};

}  // namespace maskctl::attention
