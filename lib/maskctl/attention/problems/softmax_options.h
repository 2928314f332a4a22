// What softmax attention computes, beside its arrays and its mask.
#pragma once

#include <cstdint>
#include <optional>

#include "maskctl/attention/problems/context.h"
#include "maskctl/base/index.h"

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

}  // namespace maskctl::attention
