// Packed sequences: lengths, positions and chunks, computed from cumulative lengths.
#pragma once

#include "maskctl/tensor/tensor.h"

namespace maskctl {

// Source of all: ejkernel.xla_utils.cumsum_utils. cu = [0, n0, n0 + n1, ...] is 1-D of any integer
// dtype; results have the same dtype unless said otherwise. Shapes that do not fit and a first
// element other than 0 throw Error(kShape), other dtypes and negative lengths
// Error(kInvalidArgument), arrays above 4 GiB Error(kLimit).

/// ceil(a / b) of each element as Python's integer division gives it; a may be negative: cdiv(-6,
/// 3) = -2.
Tensor cdiv(const Tensor& a, Index b);
/// The length of each sequence: cu[1:] - cu[:-1].
Tensor prepare_lens(const Tensor& cu_seqlens);
/// The length of each row of a mask [B,S]: its sum, int32.
Tensor prepare_lens_from_mask(const Tensor& mask);
/// Cumulative lengths [B+1] of the rows of a mask [B,S]: 0 and the running sum of the row sums.
Tensor prepare_cu_seqlens_from_mask(const Tensor& mask, DType out_dtype = DType::kInt32);
/// The position of each token in its sequence: [cu[-1]], 0 .. n-1 for each sequence of n tokens.
Tensor prepare_position_ids(const Tensor& cu_seqlens);
/// For each token, the number of its sequence: [cu[-1]] int32. As in the source, empty
/// sequences are not counted: lengths [3,0,2] give 0 0 0 1 1. With keep_empty they are: 0 0 0 2 2.
/// keep_empty of the functions after this one means the same.
Tensor prepare_sequence_ids(const Tensor& cu_seqlens, bool keep_empty = false);
/// A row (sequence, position in the sequence) for each token: [cu[-1], 2].
Tensor prepare_token_indices(const Tensor& cu_seqlens, bool keep_empty = false);
/// A row (sequence, chunk in the sequence) for each chunk: [chunks, 2]. A sequence of n tokens has
/// ceil(n / chunk_size) chunks.
Tensor prepare_chunk_indices(const Tensor& cu_seqlens, Index chunk_size, bool keep_empty = false);
/// For each sequence, the number of chunks in all sequences before it; then the number of all
/// chunks: [N+1]. A sequence of n tokens has ceil(n / chunk_size) chunks.
Tensor prepare_chunk_offsets(const Tensor& cu_seqlens, Index chunk_size);

/// The identity function; its backward pass casts the gradient to `dtype`.
class IdentityDtypeConvert {
 public:
  explicit IdentityDtypeConvert(DType dtype) : dtype_(dtype) {}
  const Tensor& forward(const Tensor& x) const { return x; }
  Tensor backward(const Tensor& cotangent) const;

 private:
  DType dtype_;
};
IdentityDtypeConvert identity_dtype_convert(DType dtype);

}  // namespace maskctl
