// One rank's part of a call: its position in the ring, its mask, and the keys it sees of each rank.
#pragma once

#include <optional>

#include "maskctl/attention/problems/dims.h"
#include "maskctl/attention/ring/rank.h"

namespace maskctl::attention {

/// The mask arguments for the whole sequence.
MaskArguments ring_mask(const RingAttentionOptions& options);
/// The options of softmax attention for the whole sequence.
SoftmaxOptions ring_softmax(const RingAttentionOptions& options);
/// The queries of each rank of a call with these whole extents. Throws what compose throws.
Shares ring_shares(const RingAttentionOptions& options, const Dims& whole, Index ranks);

/// Checked extents and the whole mask of one rank's call.
class RingShard {
 public:
  /// Throws what ring_attention_shard documents.
  RingShard(const Communicator& ring, const Tensor& query, const Tensor& key, const Tensor& value,
            const RingAttentionOptions& options);

  const RingAttentionOptions& options() const { return options_; }
  const Dims& dims() const { return d_; }  // extents of this rank's shards
  Index rank() const { return rank_; }
  Index ranks() const { return ranks_; }
  /// The keys of rank `owner`, as positions in the whole sequence.
  Range keys(Index owner) const { return {owner * d_.keys, (owner + 1) * d_.keys}; }
  Range all_keys() const { return {0, ranks_ * d_.keys}; }
  /// The rank whose keys this rank works on at step t, and the rank that then works on this rank's.
  Index owner(Index t) const { return (rank_ - t + ranks_) % ranks_; }
  Index reader(Index t) const { return (rank_ + t) % ranks_; }

  /// For each batch, the runs of keys of rank `owner` that some query of rank `reader` sees,
  /// counted from the owner's first key, in tiles of kKeyTile. One entry serves all batches where
  /// they share a mask.
  std::vector<std::vector<Range>> seen_keys(Index reader, Index owner) const;

  /// The stretch of this rank's queries outside of which no query sees any of `keys`, a range of
  /// all keys; counted from the rank's first query, in tiles of kQueryTile.
  Range seeing_queries(Range keys) const;

  // For this rank's queries and a range of all keys:
  Mask mask(Range keys) const { return mask_of(rank_, keys); }
  /// The part of the bias; nothing without one.
  std::optional<Tensor> bias(Range keys) const;
  /// Adds the gradient of that part to the gradient of the whole, f32.
  void add_bias_gradient(const Tensor& part, Range keys, Tensor& whole) const;
  /// `empty_row`: for rows that see none of these keys; they may see other ranks' keys.
  SoftmaxOptions softmax(Range keys, EmptyRow empty_row = EmptyRow::kZero) const;

 private:
  Mask mask_of(Index rank, Range keys) const;
  const std::vector<Range>& queries() const { return shares_[as_size(rank_)]; }
  void check_queries(Index total) const;

  const RingAttentionOptions& options_;
  Index rank_, ranks_;
  Dims d_;
  Mask mask_;
  Shares shares_;
};

/// Keys are sent in tiles of this many, counted from the first key of their owner.
inline constexpr Index kKeyTile = 64;
inline constexpr Index kQueryTile = 128;

}  // namespace maskctl::attention
