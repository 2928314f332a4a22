// One rank's part of a call: its place, its mask, and its share with each other rank.
#pragma once

#include <optional>

#include "maskctl/attention/operations/ring/ring.h"
#include "maskctl/attention/softmax/dims.h"
#include "maskctl/attention/softmax/mask_arguments.h"

namespace maskctl::attention {

/// The mask-like arguments, of the whole sequence.
MaskArguments ring_mask(const RingAttentionOptions& options);
/// The options of the core for whole sequences.
SoftmaxOptions ring_softmax(const RingAttentionOptions& options);

/// Checked extents and the whole mask of one rank's call.
class RingShard {
 public:
  /// Throws what ring_attention_shard documents.
  RingShard(const Communicator& ring, const Tensor& query, const Tensor& key, const Tensor& value,
            const RingAttentionOptions& options);

  const Dims& dims() const { return d_; }  // of the shards
  Index ranks() const { return ranks_; }
  /// Queries of this rank and keys of rank `owner`, as places in the whole sequences.
  Range queries() const { return {rank_ * d_.queries, (rank_ + 1) * d_.queries}; }
  Range keys(Index owner) const { return {owner * d_.keys, (owner + 1) * d_.keys}; }
  Range all_keys() const { return {0, ranks_ * d_.keys}; }
  /// Whose keys this rank holds at step t.
  Index owner(Index t) const { return (rank_ - t + ranks_) % ranks_; }

  // This rank's queries with a range of all keys:
  Mask mask(Range keys) const;
  /// The part of the bias; nothing without one.
  std::optional<Tensor> bias(Range keys) const;
  /// Adds the gradient of that part to the gradient of the whole, f32.
  void add_bias_gradient(const Tensor& part, Range keys, Tensor& whole) const;
  /// `empty_row`: of rows that see none of these keys; they may see other ranks'.
  SoftmaxOptions softmax(Range keys, EmptyRow empty_row = EmptyRow::kZero) const;

 private:
  const RingAttentionOptions& options_;
  Index rank_, ranks_;
  Dims d_;
  Mask mask_;
};

}  // namespace maskctl::attention
