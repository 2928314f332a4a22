// Softmax attention over a lazy mask: the one definition behind every operation of the dense
// family.
#pragma once

#include <cstdint>
#include <optional>

#include "maskctl/attention/context.h"
#include "maskctl/mask/blocks/block_map.h"
#include "maskctl/mask/mask.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::attention {

/// What a query row that sees no key gives (rows with a sink are never empty: they give 0).
/// kZero: out 0, lse -inf, no gradients. kMean: the mean of V over all keys, lse -inf; its gradient
/// goes to V (d_out / Tk) only. kNan: out NaN.
enum class EmptyRow : std::uint8_t { kZero, kMean, kNan };

/// Where the bias is added: to the scaled logits before the soft cap, or after it.
enum class BiasOrder : std::uint8_t { kBeforeCap, kAfterCap };

/// s = scale * q.k, + bias and soft cap in the given order; over the open keys of each row
///   out = sum_j exp(s_j - m) M_j v_j / l,  l = sum_j exp(s_j - m) + sum_t exp(sink_t - m),
///   lse = m + ln l,  m = max over all of these,  M the dropout multiplier.
struct SoftmaxOptions {
  std::optional<double> scale;     // 1 / sqrt(D)
  std::optional<double> soft_cap;  // cap * tanh(s / cap); above 0
  BiasOrder bias_order = BiasOrder::kBeforeCap;
  EmptyRow empty_row = EmptyRow::kZero;
  double dropout = 0;  // probability in [0, 1); kept weights are multiplied by 1 / (1 - dropout)
  std::uint64_t dropout_seed = 0;
  /// The indices of the first batch, query head, query and key in the whole call of which this is a
  /// part; dropout alone depends on them.
  Index first_batch = 0, first_head = 0, first_query = 0, first_key = 0;
  bool normalize = true;  // false: out is not divided by l, m is the maximum over open keys
  Context context = {};
  /// false: tensor cores may sum gradients of the query in any order, so that equal calls differ in
  /// their last bits; that is faster. Nothing else reads it: all else gives equal bits.
  bool deterministic = true;
  /// Tile hints of kCpu's forward pass, at most 288 queries and 512 keys; 0 = its own choice, 192
  /// and 256. They change roundings alone.
  Index q_block = 0, k_block = 0;
};

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
