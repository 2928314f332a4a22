// One rank's part of a ring attention call: its position in the ring, its mask, and which keys it
// sees of each other rank.
#pragma once

#include <optional>

#include "maskctl/attention/problems/dims.h"
#include "maskctl/attention/ring/ring_options.h"

namespace maskctl::attention {

/// The mask arguments of the call, for the whole sequence.
MaskArguments ring_mask(const RingAttentionOptions& options);
/// The softmax options of the call, for the whole sequence.
SoftmaxOptions ring_softmax(const RingAttentionOptions& options);
/// The queries of each rank; `whole` has the extents of the whole sequence. Throws what compose
/// throws.
Shares ring_shares(const RingAttentionOptions& options, const Dims& whole, Index ranks);

/// The checked extents of one rank's call, and the mask of the whole sequence.
class RingShard {
 public:
  /// Throws what ring_attention_shard documents.
  RingShard(const Communicator& ring, const Tensor& query, const Tensor& key, const Tensor& value,
            const RingAttentionOptions& options);

  const RingAttentionOptions& options() const { return options_; }
  const Dims& dims() const { return d_; }  // extents of this rank's arrays
  Index rank() const { return rank_; }
  Index ranks() const { return ranks_; }
  /// The keys of rank `owner`, as positions in the whole sequence.
  Range keys(Index owner) const { return {owner * d_.keys, (owner + 1) * d_.keys}; }
  Range all_keys() const { return {0, ranks_ * d_.keys}; }
  /// owner(t): the rank whose keys this rank works on at step t. reader(t): the rank that works on
  /// this rank's keys at step t.
  Index owner(Index t) const { return (rank_ - t + ranks_) % ranks_; }
  Index reader(Index t) const { return (rank_ + t) % ranks_; }

  /// For each batch row, the runs of keys of rank `owner` that any query of rank `reader` sees. Key
  /// numbers start at the owner's first key; runs consist of whole tiles of kKeyTile keys. If all
  /// batch rows share a mask, there is one entry for all.
  std::vector<std::vector<Range>> seen_keys(Index reader, Index owner) const;

  /// The smallest range of this rank's queries that contains every query that sees any of `keys`, a
  /// range of all keys. Query numbers start at the rank's first query; the range consists of whole
  /// tiles of kQueryTile queries.
  Range seeing_queries(Range keys) const;

  // The mask, bias and options for this rank's queries and a range of all keys.
  Mask mask(Range keys) const { return mask_of(rank_, keys); }
  /// The slice of the bias; nullopt if there is no bias.
  std::optional<Tensor> bias(Range keys) const;
  /// Adds the gradient of that slice to the gradient of the whole bias, f32.
  void add_bias_gradient(const Tensor& part, Range keys, Tensor& whole) const;
  /// `empty_row`: the policy for rows that see none of these keys. By default such rows get 0,
  /// because they may see keys of other ranks.
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

/// Keys are sent in whole tiles of this many keys, counted from the first key of their owner.
inline constexpr Index kKeyTile = 64;
inline constexpr Index kQueryTile = 128;

}  // namespace maskctl::attention
