// The options of softmax attention.
#pragma once

#include <cstdint>
#include <optional>

#include "maskctl/attention/problems/context.h"
#include "maskctl/base/index.h"

namespace maskctl::attention {

/// The result of a query row that sees no key. (A row with a sink never counts as empty; its out is
/// 0.) kZero: out 0, lse -inf, no gradients. kMean: out is the mean of V over all keys (without
/// `normalize`, the sum), lse -inf, and the only gradient is d_out / Tk, to V. kNan: out NaN.
enum class EmptyRow : std::uint8_t { kZero, kMean, kNan };

/// Where the bias is added: to the scaled logits before the soft cap, or after it.
enum class BiasOrder : std::uint8_t { kBeforeCap, kAfterCap };

/// s = scale * q.k, plus bias and with soft cap in the given order. Over the open keys of each row:
///   out = sum_j exp(s_j - m) M_j v_j / l,  l = sum_j exp(s_j - m) + sum_t exp(sink_t - m),
///   lse = m + ln l,  m = max over all of these,  M the dropout multiplier.
struct SoftmaxSettings {
  std::optional<double> soft_cap;  // s becomes cap * tanh(s / cap); must be above 0
  BiasOrder bias_order = BiasOrder::kBeforeCap;
  EmptyRow empty_row = EmptyRow::kZero;
  double dropout = 0;  // probability in [0, 1); kept weights are multiplied by 1 / (1 - dropout)
  std::uint64_t dropout_seed = 0;
  /// If this call is a part of a larger call, the indices of its first batch, query head, query and
  /// key in that call. Only dropout depends on them.
  Index first_batch = 0, first_head = 0, first_query = 0, first_key = 0;
  bool normalize = true;  // false: out is not divided by l, and m is the maximum over open keys
  /// If false, CUDA kernels may sum gradients of the query in any order, which is faster but gives
  /// different last bits from run to run. All other results are reproducible in any case.
  bool deterministic = true;
  /// Hints for the tiles of kCpu's forward pass: at most 288 queries and 512 keys; 0 means 192 and
  /// 256. They affect rounding and speed only.
  Index q_block = 0, k_block = 0;
};

/// The options of a call: the settings that its kernels read, the scale, and how the call runs.
struct SoftmaxOptions : SoftmaxSettings {
  std::optional<double> scale;  // default: 1 / sqrt(D)
  Context context = {};
};

}  // namespace maskctl::attention
