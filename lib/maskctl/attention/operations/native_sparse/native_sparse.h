// Native sparse attention: each token attends to the key blocks that are given for it, or to those
// that attention over the means of all blocks finds important.
#pragma once

#include <cstdint>
#include <optional>

#include "maskctl/attention/softmax/softmax.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::attention {

/// A block that is listed twice for a token: its keys count twice in the softmax or
/// once.
enum class DuplicateBlocks : std::uint8_t { kCount, kOnce };

/// Borrowed arrays; query, key and value are f32, f16 or bf16, of one dtype; gates any float.
/// Query head h reads key head h / (Hq / Hkv).
struct NativeSparseInputs {
  const Tensor* query = nullptr;  // [B,T,Hq,D]
  const Tensor* key = nullptr;    // [B,T,Hkv,D]
  const Tensor* value = nullptr;  // [B,T,Hkv,Dv]
  const Tensor* g_cmp = nullptr;  // [B,T,Hq]: gate of the compressed branch, which runs when given
  const Tensor* g_slc = nullptr;  // [B,T,Hq]: gate of the selected branch; 1 when absent
  /// [B,T,Hkv,S] integers: block n is the keys n * block_size .. (n + 1) * block_size - 1. Or
  /// [B,R,Hkv,S] for blocks of block_size queries, R = ceil(T / block_size) (with cu_seqlens the
  /// sum of that over the sequences). Blocks below 0 or past the last one contribute nothing. Not
  /// used when g_cmp is given.
  const Tensor* block_indices = nullptr;
  /// [B,T,Hkv] or [B,R,Hkv] integers in place of the option of that name.
  const Tensor* block_counts = nullptr;
  /// [N+1], B = 1: sequences back to back, each alone; tokens and blocks count from its start.
  const Tensor* cu_seqlens = nullptr;
};

struct NativeSparseOptions {
  Index block_size = 64;                // part of the meaning; never tuned
  Index block_counts = 16;              // of the listed blocks only the first that many count
  std::optional<double> softmax_scale;  // 1 / sqrt(D)
  DuplicateBlocks duplicate_blocks = DuplicateBlocks::kCount;
  Context context = {};
};

/// Softmax attention of token t over its blocks:
///   out = sum_j exp(s_j - lse) v_j,  s_j = scale * q.k_j,  lse = ln sum_j exp(s_j)
/// over j in the first block_counts blocks of t with j <= t. A token that sees nothing: out 0,
/// lse -inf. out [B,T,Hq,Dv] in the dtype of the query, lse [B,Hq,T] f32.
/// Throws Error(kShape, kInvalidArgument) before any work: shapes or dtypes that do not fit, no
/// block_indices, gates, block_size or block_counts below 1, counts below 0 in an array, cu_seqlens
/// that do not rise from 0 to at most T (later tokens see nothing).
SoftmaxResult apply_native_sparse_attention(const NativeSparseInputs& inputs,
                                            const NativeSparseOptions& options = {});
/// Gradients of sum(out * d_out) with respect to query, key and value; `forward` is what the call
/// above gave.
SoftmaxGradients apply_native_sparse_attention_backward(const NativeSparseInputs& inputs,
                                                        const SoftmaxResult& forward,
                                                        const Tensor& d_out,
                                                        const NativeSparseOptions& options = {});

struct NativeSparseResult {
  Tensor out;                               // [B,T,Hq,Dv] in the dtype of the query
  SoftmaxResult selected;                   // result of the selected branch, before its gate
  std::optional<SoftmaxResult> compressed;  // result of the compressed branch, before its gate
  /// With g_cmp, the chosen blocks: [B,T,Hkv,S] int32, descending, -1 where there are fewer.
  std::optional<Tensor> selected_block_indices;
};

/// out = g_slc * selected + g_cmp * compressed. Without g_cmp `selected` reads block_indices. With
/// it, keys and values of each whole block are averaged and token t attends to the blocks
/// c < (t + 1) / block_size (none: 0); these weights, summed over the query heads of a key head,
/// rank the blocks c < t / block_size, the block of t itself counting 1 for each query head; the S
/// best are selected (S = block_counts, or the first element of the array), the lower index on
/// ties, fewer where there are fewer. No gradient passes through the choice.
/// Throws what apply_native_sparse_attention throws, and for neither g_cmp nor block_indices.
NativeSparseResult native_sparse_attention(const NativeSparseInputs& inputs,
                                           const NativeSparseOptions& options = {});

struct NativeSparseGradients {
  Tensor query, key, value;            // as the inputs
  std::optional<Tensor> g_cmp, g_slc;  // as given
};

/// Gradients of sum(out * d_out); `forward` is what native_sparse_attention gave.
NativeSparseGradients native_sparse_attention_backward(const NativeSparseInputs& inputs,
                                                       const NativeSparseResult& forward,
                                                       const Tensor& d_out,
                                                       const NativeSparseOptions& options = {});

}  // namespace maskctl::attention
