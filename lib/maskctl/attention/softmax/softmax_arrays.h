// The arrays that one call of softmax attention takes and gives.
#pragma once

#include <optional>

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

struct SoftmaxGradients {
  Tensor query, key, value;           // shaped as the inputs
  std::optional<Tensor> bias, sinks;  // only if given; summed over broadcast axes
};

}  // namespace maskctl::attention
