// One rank's part of a call: its place, its mask, and its share with each other rank.
#pragma once

#include <optional>

#include "maskctl/attention/operations/ring/ring.h"
#include "maskctl/attention/ring/assign.h"
#include "maskctl/attention/softmax/dims.h"
#include "maskctl/attention/softmax/mask_arguments.h"

namespace maskctl::attention {

/// The mask-like arguments, of the whole sequence.
MaskArguments ring_mask(const RingAttentionOptions& options);
/// The options of the core for whole sequences.
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
  const Dims& dims() const { return d_; }  // of the shards
  Index rank() const { return rank_; }
  Index ranks() const { return ranks_; }
  /// Keys of rank `owner`, as places in the whole sequence.
  Range keys(Index owner) const { return {owner * d_.keys, (owner + 1) * d_.keys}; }
  Range all_keys() const { return {0, ranks_ * d_.keys}; }
  /// Whose keys this rank works on at step t, and who then works on this rank's.
  Index owner(Index t) const { return (rank_ - t + ranks_) % ranks_; }
  Index reader(Index t) const { return (rank_ + t) % ranks_; }

  /// The runs of rank owner's keys that some query of rank `reader` sees, for each batch, from the
  /// first key of the owner; in tiles of kKeyTile. One entry serves all batches when there is one
  /// mask for all.
  std::vector<std::vector<Range>> seen_keys(Index reader, Index owner) const;

  /// The stretch of this rank's queries, from its first and in tiles of kQueryTile, outside of
  /// which none sees any of these keys of all.
  Range seeing_queries(Range keys) const;

  // This rank's queries with a range of all keys:
  Mask mask(Range keys) const { return mask_of(rank_, keys); }
  /// The part of the bias; nothing without one.
  std::optional<Tensor> bias(Range keys) const;
  /// Adds the gradient of that part to the gradient of the whole, f32.
  void add_bias_gradient(const Tensor& part, Range keys, Tensor& whole) const;
  /// `empty_row`: of rows that see none of these keys; they may see other ranks'.
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

/// Keys are sent in tiles of this many, those of the owner counted from its first.
inline constexpr Index kKeyTile = 64;
inline constexpr Index kQueryTile = 128;

}  // namespace maskctl::attention
