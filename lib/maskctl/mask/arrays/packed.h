// Packed sequences: lengths, positions and chunks from cumulative lengths.
#pragma once

#include "maskctl/tensor/tensor.h"

namespace maskctl {

// Source of all: ejkernel.xla_utils.cumsum_utils. cu = [0, n0, n0 + n1, ...] is 1-D of any integer
// dtype, which the results keep unless said otherwise. Shapes that do not fit and a first element
// other than 0 throw Error(kShape), other dtypes and negative lengths Error(kInvalidArgument),
// arrays above 4 GiB Error(kLimit).

/// ceil(a / b) with floor division, element by element; a may be negative (cdiv(-6, 3) = -2).
Tensor cdiv(const Tensor& a, Index b);
/// cu[1:] - cu[:-1].
Tensor prepare_lens(const Tensor& cu_seqlens);
/// Row sums of [B,S], int32.
Tensor prepare_lens_from_mask(const Tensor& mask);
/// [B+1]: 0 and the cumulative row sums.
Tensor prepare_cu_seqlens_from_mask(const Tensor& mask, DType out_dtype = DType::kInt32);
/// [cu[-1]]: 0 .. n-1 for each sequence.
Tensor prepare_position_ids(const Tensor& cu_seqlens);
/// [cu[-1]] int32. Like the source, numbers only the sequences that have tokens ([3,0,2] -> 0 0 0 1
/// 1); keep_empty gives the true index (0 0 0 2 2), here and below.
Tensor prepare_sequence_ids(const Tensor& cu_seqlens, bool keep_empty = false);
/// [cu[-1], 2]: sequence, position.
Tensor prepare_token_indices(const Tensor& cu_seqlens, bool keep_empty = false);
/// [chunks, 2]: sequence, chunk in the sequence; ceil(n / chunk_size) chunks each.
Tensor prepare_chunk_indices(const Tensor& cu_seqlens, Index chunk_size, bool keep_empty = false);
/// [N+1]: cumulative chunk counts.
Tensor prepare_chunk_offsets(const Tensor& cu_seqlens, Index chunk_size);

/// The identity whose gradient is cast to `dtype`.
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
