// Planes on places other than indices: positions that the caller gives, and sequences of different
// lengths in one call.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "maskctl/mask/plane.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::attention {

/// Key j of query i open where -left <= kv[j] - q[i] <= right; nullopt: no limit on that side.
/// Positions are int32 values.
/// Computed when read: each row costs O(ascents * log K), `ascents` the number of stretches in
/// which kv does not fall (one for each packed sequence).
PlanePtr position_plane(std::span<const Index> q, std::span<const Index> kv,
                        std::optional<Index> left, std::optional<Index> right);

/// Queries and keys of one sequence, in the row of the batch that holds it.
struct Sequence {
  Index batch = 0;
  Range queries, keys;
};

/// Sequences given by cumulative lengths: padded when there is one for each of several rows of the
/// batch, else back to back in the single row.
/// Throws Error(kShape, kInvalidArgument): see MaskArguments::cum_seqlens_q.
std::vector<Sequence> sequences_of(const Tensor& cum_q, const Tensor& cum_k, Index batch,
                                   Index queries, Index keys);

/// Query i of a sequence sees keys i + shift + low <= j <= i + shift + high of it, both counted
/// inside the sequence; nullopt: no limit. The shift is 0, or its keys less its queries
/// (bottom_right).
struct Diagonals {
  std::optional<Index> low, high;
  bool bottom_right = true;
};

/// The mask of some sequences of one row of the batch, ascending; O(sequences).
PlanePtr sequence_plane(const std::vector<Sequence>& sequences, const Diagonals& diagonals,
                        Index queries, Index keys);

}  // namespace maskctl::attention
