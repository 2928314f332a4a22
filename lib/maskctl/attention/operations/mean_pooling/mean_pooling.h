// Means over tokens: of whole sequences, or of chunks of them.
#pragma once

#include <cstdint>

#include "maskctl/attention/problems/context.h"
#include "maskctl/base/index.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::attention {

/// kPerSequence: one mean per sequence. kPerChunk: one per chunk of chunk_size tokens, the last of
/// a sequence over what is left of it.
enum class PoolingMode : std::uint8_t { kPerSequence, kPerChunk };

/// Borrowed arrays. x is f32, f16 or bf16 and its trailing axes are pooled alike:
///   kPerSequence  x [B,T,...] gives [B,...]; with cu_seqlens x [T,...] gives [N,...]
///   kPerChunk     x [B,T,...] gives [B,ceil(T / chunk_size),...]; with cu_seqlens B is 1 and
///   chunks
///                 start anew at every sequence
struct MeanPoolingInputs {
  const Tensor* x = nullptr;
  const Tensor* cu_seqlens = nullptr;      // [N+1] nondecreasing integers from 0
  const Tensor* attention_mask = nullptr;  // [B,T] bool or 0/1; only nonzero tokens count
};

struct MeanPoolingOptions {
  Index chunk_size = 32;  // for kPerChunk
  PoolingMode mode = PoolingMode::kPerSequence;
  Context context = {};
};

/// The mean of the tokens that count, 0 where none does, in the dtype of x (summed in f32 or
/// wider). Throws Error(kShape, kInvalidArgument) before any work: shapes that do not fit, both
/// cu_seqlens and attention_mask, chunk_size below 1.
Tensor mean_pooling(const MeanPoolingInputs& inputs, const MeanPoolingOptions& options = {});

/// Gradient with respect to x: d_out / count on the tokens that count, 0 elsewhere.
Tensor mean_pooling_backward(const MeanPoolingInputs& inputs, const Tensor& d_out,
                             const MeanPoolingOptions& options = {});

}  // namespace maskctl::attention
