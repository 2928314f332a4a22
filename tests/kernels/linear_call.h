// Random calls of recurrent_attention (linear attention), for tests of every backend.
#pragma once

#include <optional>

#include "maskctl/kernels/linear/recurrent.h"
#include "support/catch_compat.h"
#include "support/tensors.h"

namespace linear_test {

using namespace maskctl;
using namespace maskctl::attention;
using namespace maskctl::test;

/// A call of recurrent_attention, with the gradients of its results.
struct LinearCall {
  Tensor query, key, value, d_out;
  std::optional<Tensor> g, g_gamma, gk, gv, initial_state, cu_seqlens, d_final;
  RecurrentAttentionOptions options;

  RecurrentAttentionInputs inputs() const {
    const auto at = [](const std::optional<Tensor>& t) { return t ? &*t : nullptr; };
    RecurrentAttentionInputs in{&query, &key, &value};
    in.g = at(g), in.g_gamma = at(g_gamma), in.gk = at(gk), in.gv = at(gv);
    in.initial_state = at(initial_state), in.cu_seqlens = at(cu_seqlens);
    return in;
  }
  LinearAttentionResult forward(Backend backend) const {
    RecurrentAttentionOptions o = options;
    o.context.backend = backend;
    return recurrent_attention(inputs(), o);
  }
  LinearAttentionGradients backward(Backend backend) const {
    RecurrentAttentionOptions o = options;
    o.context.backend = backend;
    return recurrent_attention_backward(inputs(), d_out, o, d_final ? &*d_final : nullptr);
  }
};

/// Draws a call in which any option may be set. Log decays lie between `low` and 0; numbers of
/// channels are multiples of `step`.
inline LinearCall random_linear_call(unsigned seed, Index longest, float low,
                                     DType dtype = DType::kFloat32, Index widest_key = 20,
                                     Index step = 1) {
  RandomTensors r(seed);
  const Index u = 1 + r.below(2), h = u * (1 + r.below(2));
  const bool packed = r.chance(0.4);
  const Index b = packed ? 1 : 1 + r.below(2), t = 1 + r.below(longest);
  const Index most = widest_key / step, k = step * (1 + r.below(most)),
              v = r.chance(0.5) ? k : step * (1 + r.below(2 * most));
  LinearCall p;
  p.query = r.normal({b, t, h, k}, dtype);
  p.key = r.normal({b, t, u, k}, dtype);
  p.value = r.normal({b, t, u, v}, dtype);
  p.d_out = r.normal({b, t, h, v}, dtype);
  const Index n = packed ? 1 + r.below(5) : b;
  if (packed) p.cu_seqlens = r.cu_seqlens(n, t);
  if (r.chance(0.3)) p.g = r.uniform({b, t, h, k}, low, 0);
  if (!p.g && r.chance(0.3)) p.g = r.uniform({b, t, h}, low, 0);
  if (r.chance(0.4)) p.g_gamma = r.uniform({h}, low, 0);
  if (r.chance(0.3)) p.gk = r.uniform({b, t, h, k}, low, 0);
  if (r.chance(0.3)) p.gv = r.uniform({b, t, h, v}, low, 0);
  if (r.chance(0.5)) p.initial_state = r.normal({n, h, k, v});
  if (r.chance(0.5)) p.d_final = r.normal({n, h, k, v});
  p.options.reverse = r.chance(0.4);
  p.options.return_state = true;
  if (r.chance(0.3)) p.options.softmax_scale = 0.7;
  return p;
}

inline void check_equal_or_absent(const std::optional<Tensor>& seen,
                                  const std::optional<Tensor>& expected, double tolerance,
                                  const char* what) {
  REQUIRE(seen.has_value() == expected.has_value());
  if (seen) check_close(*seen, *expected, tolerance, what);
}

inline void check_gradients(const LinearAttentionGradients& seen,
                            const LinearAttentionGradients& expected, double tolerance) {
  check_close(seen.query, expected.query, tolerance, "d_query");
  check_close(seen.key, expected.key, tolerance, "d_key");
  check_close(seen.value, expected.value, tolerance, "d_value");
  check_equal_or_absent(seen.g, expected.g, tolerance, "d_g");
  // d_g_gamma sums d_g over all tokens and channels: up to 30 000 terms that partly cancel.
  check_equal_or_absent(seen.g_gamma, expected.g_gamma, 10 * tolerance, "d_g_gamma");
  check_equal_or_absent(seen.gk, expected.gk, tolerance, "d_gk");
  check_equal_or_absent(seen.gv, expected.gv, tolerance, "d_gv");
  check_equal_or_absent(seen.initial_state, expected.initial_state, tolerance, "d_initial_state");
}

}  // namespace linear_test
