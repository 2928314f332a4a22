// mean_pooling: means over the tokens of each sequence, or of each chunk.
#pragma once

#include <cstdint>

#include "maskctl/attention/problems/context.h"
#include "maskctl/base/index.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::attention {

/// kPerSequence: one mean per sequence. kPerChunk: one mean per chunk of chunk_size tokens; the
/// last chunk of a sequence may be shorter.
enum class PoolingMode : std::uint8_t { kPerSequence, kPerChunk };

/// Borrowed arrays. x is f32, f16 or bf16; its trailing axes are pooled independently:
///   kPerSequence  x [B,T,...] gives [B,...]; with cu_seqlens, x [T,...] gives [N,...]
///   kPerChunk     x [B,T,...] gives [B,ceil(T / chunk_size),...]; with cu_seqlens, B is 1 and
///                 every sequence begins a new chunk
struct MeanPoolingInputs {
  const Tensor* x = nullptr;
  const Tensor* cu_seqlens = nullptr;      // [N+1] nondecreasing integers from 0
  const Tensor* attention_mask = nullptr;  // [B,T] bool or 0/1; only tokens with 1 count
};

struct MeanPoolingOptions {
  Index chunk_size = 32;  // tokens per chunk, for kPerChunk
  PoolingMode mode = PoolingMode::kPerSequence;
  Context context = {};
};

/// The mean of the tokens that count, or 0 if none does, in the dtype of x; sums are in f32 or
/// wider. Throws Error(kShape, kInvalidArgument) before any work: shapes that do not fit, both
/// cu_seqlens and attention_mask, chunk_size below 1.
Tensor mean_pooling(const MeanPoolingInputs& inputs, const MeanPoolingOptions& options = {});

/// The gradient with respect to x: d_out / count for tokens that count, 0 elsewhere.
Tensor mean_pooling_backward(const MeanPoolingInputs& inputs, const Tensor& d_out,
                             const MeanPoolingOptions& options = {});

}  // namespace maskctl::attention
