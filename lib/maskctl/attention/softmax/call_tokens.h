// Numbers per token in the arguments of a call: ids, positions, lengths.
#pragma once

#include <vector>

#include "maskctl/attention/softmax/mask_arguments.h"

namespace maskctl::attention {

/// Throws Error(kShape) unless the array is [T], [1,T] or [B,T]; `what` names it in the message.
void check_tokens(const Tensor& array, Index batch, Index length, const char* what);
/// Checks an array by check_tokens() and converts it to int32. Throws Error(kInvalidArgument) for
/// elements that are no int32.
NamedArray int32_tokens(const Tensor& array, Index batch, Index length, const char* what);

/// The number of tokens in each batch row, [B], or in each of the sequences that are packed in a
/// single row. Empty: every token counts.
struct CallLengths {
  std::vector<Index> queries, keys;
  bool cumulative = false;  // causal and window are relative to each sequence
  bool packed = false;
};

/// Throws Error(kShape, kInvalidArgument). See MaskArguments::key_lengths and cum_seqlens_q.
CallLengths call_lengths(const MaskArguments& arguments, const MaskExtents& extents);

/// Where the valid queries of each batch row end: see ComposedMask::query_ends.
std::vector<Index> query_ends(const CallLengths& lengths);

}  // namespace maskctl::attention
