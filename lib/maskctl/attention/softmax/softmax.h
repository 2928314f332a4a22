// Softmax attention over a lazy mask, on which every dense operation is based.
#pragma once

#include <optional>

#include "maskctl/attention/problems/softmax_options.h"
#include "maskctl/mask/blocks/block_map.h"
#include "maskctl/mask/mask.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::attention {

/// Borrowed arrays of one call, heads after time. All have the same dtype, f32, f16 or bf16, except
/// that bias and sinks may have any float dtype. Query head h reads key head h / (Hq / Hkv).
struct SoftmaxInputs {
  const Tensor* query = nullptr;  // [B,Tq,Hq,D]
  const Tensor* key = nullptr;    // [B,Tk,Hkv,D]
  const Tensor* value = nullptr;  // [B,Tk,Hkv,Dv]
  /// A mask [B or 1, 1 or Hq, Tq, Tk]; null: all open. (The caller expands masks that have one
  /// plane per key head.)
  const Mask* mask = nullptr;
  const Tensor* bias = nullptr;   // [B or 1, Hq or 1, Tq or 1, Tk or 1]
  const Tensor* sinks = nullptr;  // [n] shared by all heads, or [Hq or Hkv, n]
  /// A plane of the mask, compiled for kernels. Kernels whose tiles have its block size use it
  /// directly.
  const BlockMap* block_map = nullptr;
};

struct SoftmaxResult {
  Tensor out;  // [B,Tq,Hq,Dv] in the dtype of the query
  Tensor lse;  // [B,Hq,Tq] f32, natural logarithm, includes sinks; -inf for empty rows
};

/// Throws Error(kShape, kInvalidArgument) before any work: ranks and extents that do not fit, Hq
/// not divisible by Hkv, mixed dtypes, a soft cap that is not above 0, dropout outside [0, 1).
SoftmaxResult softmax_forward(const SoftmaxInputs& inputs, const SoftmaxOptions& options = {});

/// Returns [B,Hq,Tq,Tk] f32: the weights that multiply V, without dropout; 1 / Tk in rows that are
/// empty under kMean. This is the only output of size Tq x Tk.
Tensor softmax_weights(const SoftmaxInputs& inputs, const SoftmaxOptions& options);

struct SoftmaxGradients {
  Tensor query, key, value;           // shaped as the inputs
  std::optional<Tensor> bias, sinks;  // only if given; summed over broadcast axes
};

/// Gradients of sum(out * d_out), plus sum(lse * d_lse) if d_lse is given. `forward` is the result
/// of softmax_forward for the same inputs and options; dropout repeats its choices from the seed.
SoftmaxGradients softmax_backward(const SoftmaxInputs& inputs, const SoftmaxResult& forward,
                                  const Tensor& d_out, const SoftmaxOptions& options = {},
                                  const Tensor* d_lse = nullptr);

}  // namespace maskctl::attention
