// Softmax attention over a lazy mask: the one definition behind every operation of the dense
// family.
#pragma once

#include <optional>

#include "maskctl/attention/problems/softmax_options.h"
#include "maskctl/mask/blocks/block_map.h"
#include "maskctl/mask/mask.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::attention {

/// Borrowed arrays of one call, heads after time. f32, f16 or bf16, all of one dtype; only
/// bias and sinks may be f32 beside 16-bit arrays. Query head h reads key head h / (Hq / Hkv).
struct SoftmaxInputs {
  const Tensor* query = nullptr;  // [B,Tq,Hq,D]
  const Tensor* key = nullptr;    // [B,Tk,Hkv,D]
  const Tensor* value = nullptr;  // [B,Tk,Hkv,Dv]
  /// [B or 1, 1 or Hq, Tq, Tk]; nullptr: all open. (Masks per key head are expanded by the caller.)
  const Mask* mask = nullptr;
  const Tensor* bias = nullptr;   // [B or 1, Hq or 1, Tq or 1, Tk or 1]
  const Tensor* sinks = nullptr;  // [n] shared by all heads, or [Hq or Hkv, n]
  /// A plane of the mask compiled for kernels; kernels with tiles of its size read it as it is.
  const BlockMap* block_map = nullptr;
};

struct SoftmaxResult {
  Tensor out;  // [B,Tq,Hq,Dv] in the dtype of the query
  Tensor lse;  // [B,Hq,Tq] f32, natural logarithm, sinks counted once; -inf for empty rows
};

/// Throws Error(kShape, kInvalidArgument) before any work: ranks and extents that do not fit, Hq
/// not divisible by Hkv, mixed dtypes, cap <= 0, dropout outside [0, 1).
SoftmaxResult softmax_forward(const SoftmaxInputs& inputs, const SoftmaxOptions& options = {});

/// [B,Hq,Tq,Tk] f32: the weights that multiply V (dropout not applied), 1 / Tk in rows that are
/// empty under kMean. The one output of size Tq x Tk.
Tensor softmax_weights(const SoftmaxInputs& inputs, const SoftmaxOptions& options);

struct SoftmaxGradients {
  Tensor query, key, value;           // as the inputs
  std::optional<Tensor> bias, sinks;  // as given, reduced over broadcast axes
};

/// Gradients of sum(out * d_out) (+ sum(lse * d_lse) when given). `forward` is what softmax_forward
/// gave for the same inputs and options; dropout is replayed from the seed.
SoftmaxGradients softmax_backward(const SoftmaxInputs& inputs, const SoftmaxResult& forward,
                                  const Tensor& d_out, const SoftmaxOptions& options = {},
                                  const Tensor* d_lse = nullptr);

}  // namespace maskctl::attention
