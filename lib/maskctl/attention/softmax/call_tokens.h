// Numbers that a call gives for its tokens: ids, positions, lengths.
#pragma once

#include <vector>

#include "maskctl/attention/softmax/mask_arguments.h"

namespace maskctl::attention {

/// Throws Error(kShape) unless the array, which `what` names, is [T], [1,T] or [B,T].
void check_tokens(const Tensor& array, Index batch, Index length, const char* what);
/// The array of check_tokens() as int32. Throws Error(kInvalidArgument) for other numbers.
NamedArray int32_tokens(const Tensor& array, Index batch, Index length, const char* what);

/// How many tokens the rows of the batch hold, [B], or the sequences that are packed in its only
/// row. Empty: all tokens.
struct CallLengths {
  std::vector<Index> queries, keys;
  bool cumulative = false;  // diagonals count inside each
  bool packed = false;
};

/// Throws Error(kShape, kInvalidArgument): see MaskArguments::key_lengths and cum_seqlens_q.
CallLengths call_lengths(const MaskArguments& arguments, const MaskExtents& extents);

/// The end of the valid queries of each batch entry, as ComposedMask::query_ends has it.
std::vector<Index> query_ends(const CallLengths& lengths);

}  // namespace maskctl::attention
