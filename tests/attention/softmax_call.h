// Random calls of softmax attention, for tests of every backend.
#pragma once

#include <optional>

#include "attention/arrays.h"

namespace maskctl::attention_test {

/// A call of softmax_forward, on which the dense operations are built, with the gradients of its
/// results.
struct SoftmaxCall {
  Tensor query, key, value;
  std::optional<Mask> mask;
  std::optional<Tensor> bias, sinks, d_lse;
  Tensor d_out;
  SoftmaxOptions options;

  SoftmaxInputs inputs() const {
    return {&query,
            &key,
            &value,
            mask ? &*mask : nullptr,
            bias ? &*bias : nullptr,
            sinks ? &*sinks : nullptr};
  }
};

/// Number of channels of queries and keys, and of values; 0 means a random number.
struct CallDims {
  Index dim = 0, value_dim = 0;
};

/// Draws a call: up to 300 tokens, odd numbers of channels, grouped heads, and any option may be
/// set.
inline SoftmaxCall random_softmax_call(unsigned seed, DType dtype = DType::kFloat32,
                                       CallDims dims = {}) {
  Random r(seed);
  const Index b = 1 + r.below(2), u = 1 + r.below(3), g = 1 + r.below(3), h = u * g;
  const Index tq = 1 + r.below(r.chance(0.3) ? 300 : 40);
  const Index tk = 1 + r.below(r.chance(0.3) ? 300 : 40);
  const Index d = dims.dim > 0 ? dims.dim : 1 + r.below(40);
  const Index other = r.chance(0.5) ? d : 1 + r.below(70);
  const Index dv = dims.value_dim > 0 ? dims.value_dim : other;
  SoftmaxCall p;
  p.query = r.normal({b, tq, h, d}, dtype);
  p.key = r.normal({b, tk, u, d}, dtype);
  p.value = r.normal({b, tk, u, dv}, dtype);
  p.d_out = r.normal({b, tq, h, dv}, dtype);
  const double open[] = {0.02, 0.5, 0.98, 1};
  if (r.chance(0.8)) {
    p.mask = r.mask(r.chance(0.5) ? b : 1, r.chance(0.5) ? h : 1, tq, tk, open[r.below(4)]);
  }
  const auto axis = [&r](Index n) { return r.chance(0.7) ? n : 1; };
  if (r.chance(0.4)) p.bias = r.normal({axis(b), axis(h), axis(tq), axis(tk)});
  if (r.chance(0.4)) {
    const Index n = 1 + r.below(3);
    p.sinks = r.chance(0.3) ? r.normal({n}) : r.normal({r.chance(0.5) ? h : u, n});
  }
  if (r.chance(0.3)) p.d_lse = r.normal({b, h, tq});
  if (r.chance(0.3)) p.options.soft_cap = 0.5 + static_cast<double>(r.below(5));
  if (r.chance(0.5)) p.options.bias_order = BiasOrder::kAfterCap;
  if (r.chance(0.5)) p.options.empty_row = EmptyRow::kMean;
  if (r.chance(0.3)) p.options.scale = 0.3;
  if (r.chance(0.2)) {
    p.options.dropout = 0.3;
    p.options.dropout_seed = seed;
  }
  if (r.chance(0.3)) p.options.q_block = 1 + r.below(400), p.options.k_block = 1 + r.below(700);
  return p;
}

}  // namespace maskctl::attention_test
