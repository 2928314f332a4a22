// Native sparse attention: each token attends to a list of key blocks. The list is given, or chosen
// by attention over the means of all blocks.
#pragma once

#include <cstdint>
#include <optional>

#include "maskctl/attention/softmax/softmax.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::attention {

/// Whether the keys of a block that is listed twice for a token count twice or once in the softmax.
enum class DuplicateBlocks : std::uint8_t { kCount, kOnce };

/// Borrowed arrays. query, key and value have the same dtype, f32, f16 or bf16; gates may have any
/// float dtype. Query head h reads key head h / (Hq / Hkv).
struct NativeSparseInputs {
  const Tensor* query = nullptr;  // [B,T,Hq,D]
  const Tensor* key = nullptr;    // [B,T,Hkv,D]
  const Tensor* value = nullptr;  // [B,T,Hkv,Dv]
  const Tensor* g_cmp = nullptr;  // [B,T,Hq]: gate of the compressed branch; null: no such branch
  const Tensor* g_slc = nullptr;  // [B,T,Hq]: gate of the selected branch; null: 1
  /// [B,T,Hkv,S] integers, the block list of each token: block n has the keys n * block_size .. (n
  /// + 1) * block_size - 1. Or [B,R,Hkv,S], one list for each block of block_size queries: R =
  /// ceil(T / block_size), summed over the sequences if there are cu_seqlens. Blocks below 0 or
  /// past the last one are skipped. Ignored if g_cmp is given.
  const Tensor* block_indices = nullptr;
  /// Integers that replace the option block_counts: [B,T,Hkv], one for each token, or [B,R,Hkv],
  /// one for each block of queries.
  const Tensor* block_counts = nullptr;
  /// [N+1], with B = 1: packed sequences that do not see each other; tokens and blocks count from
  /// the start of their sequence.
  const Tensor* cu_seqlens = nullptr;
};

struct NativeSparseOptions {
  Index block_size = 64;                // changes the result, so it is never tuned
  Index block_counts = 16;              // how many of the listed blocks are used: the first ones
  std::optional<double> softmax_scale;  // default: 1 / sqrt(D)
  DuplicateBlocks duplicate_blocks = DuplicateBlocks::kCount;
  Context context = {};
};

/// Softmax attention of token t over the keys of its blocks:
///   out = sum_j exp(s_j - lse) v_j,  s_j = scale * q.k_j,  lse = ln sum_j exp(s_j)
/// where j runs over the keys j <= t of the first block_counts blocks of t. A token that sees no
/// key has out 0 and lse -inf. out [B,T,Hq,Dv] in the dtype of the query, lse [B,Hq,T] f32.
/// Throws Error(kShape, kInvalidArgument) before any work: shapes or dtypes that do not fit,
/// missing block_indices, gates, block_size or block_counts below 1, counts below 0 in an array,
/// cu_seqlens that do not rise from 0 to at most T (tokens past the last sequence see nothing).
SoftmaxResult apply_native_sparse_attention(const NativeSparseInputs& inputs,
                                            const NativeSparseOptions& options = {});
/// Gradients of sum(out * d_out) with respect to query, key and value. `forward` is the result of
/// apply_native_sparse_attention.
SoftmaxGradients apply_native_sparse_attention_backward(const NativeSparseInputs& inputs,
                                                        const SoftmaxResult& forward,
                                                        const Tensor& d_out,
                                                        const NativeSparseOptions& options = {});

struct NativeSparseResult {
  Tensor out;                               // [B,T,Hq,Dv] in the dtype of the query
  SoftmaxResult selected;                   // result of the selected branch, before its gate
  std::optional<SoftmaxResult> compressed;  // result of the compressed branch, before its gate
  /// Set if g_cmp is given: the chosen blocks, [B,T,Hkv,S] int32, descending, padded with -1.
  std::optional<Tensor> selected_block_indices;
};

/// out = g_slc * selected + g_cmp * compressed. Without g_cmp there is only the selected branch,
/// which reads block_indices.
/// With g_cmp, `compressed` is attention over the mean key and value of each whole block: token t
/// sees the blocks c < (t + 1) / block_size, and gets 0 if there are none. Its weights, summed over
/// the query heads of a key head, are the importance of the blocks c < t / block_size; the
/// importance of the own block of t is Hq / Hkv. The S most important blocks are selected (of equal
/// ones the lower number); S is block_counts, or the first element of that array. No gradient
/// passes through the selection.
/// Throws what apply_native_sparse_attention throws, and if neither g_cmp nor block_indices is
/// given.
NativeSparseResult native_sparse_attention(const NativeSparseInputs& inputs,
                                           const NativeSparseOptions& options = {});

struct NativeSparseGradients {
  Tensor query, key, value;            // shaped as the inputs
  std::optional<Tensor> g_cmp, g_slc;  // shaped as the gates; only of gates that are given
};

/// Gradients of sum(out * d_out); `forward` is the result of native_sparse_attention.
NativeSparseGradients native_sparse_attention_backward(const NativeSparseInputs& inputs,
                                                       const NativeSparseResult& forward,
                                                       const Tensor& d_out,
                                                       const NativeSparseOptions& options = {});

}  // namespace maskctl::attention
