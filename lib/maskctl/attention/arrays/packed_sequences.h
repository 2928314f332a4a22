// Sequences back to back on one axis of tokens.
#pragma once

#include <vector>

#include "maskctl/tensor/tensor.h"

namespace maskctl::attention {

/// The tokens of each sequence of cumulative lengths [N+1]: nondecreasing integers that start at 0
/// and end at `tokens` or before. Throws Error(kShape, kInvalidArgument) naming the array
/// otherwise.
std::vector<Range> packed_sequences(const Tensor& cu_seqlens, Index tokens,
                                    const char* what = "cu_seqlens");
/// Throws Error(kShape) unless a batch with cu_seqlens has one row.
void check_one_row(Index batch);

/// A Sequence{row, tokens} for each row of a batch or, with `cu_seqlens`, for each of those in its
/// only row. Throws the same, and Error(kShape) for several rows.
template <class Sequence>
std::vector<Sequence> sequences_in(const Tensor* cu_seqlens, Index batch, Index tokens) {
  std::vector<Sequence> sequences;
  for (Index b = 0; !cu_seqlens && b < batch; ++b) sequences.push_back({b, {0, tokens}});
  if (!cu_seqlens) return sequences;
  check_one_row(batch);
  for (const Range range : packed_sequences(*cu_seqlens, tokens)) sequences.push_back({0, range});
  return sequences;
}

}  // namespace maskctl::attention
