// The float64 twin of the linear family: the recurrence in plain loops.
#include <cmath>
#include <functional>
#include <vector>

#include "maskctl/attention/arrays/to_double.h"
#include "maskctl/attention/operations/linear/linear_backends.h"

namespace maskctl::attention {
namespace {

/// One call in float64.
struct Call {
  Call(const RecurrentAttentionInputs& in, const LinearDims& dims)
      : d(dims),
        q(doubles(in.query)),
        k(doubles(in.key)),
        v(doubles(in.value)),
        g(doubles(in.g)),
        g_gamma(doubles(in.g_gamma)),
        gk(doubles(in.gk)),
        gv(doubles(in.gv)),
        initial_state(doubles(in.initial_state)) {}

  // Places of token `t` of head h, key channel x, value channel y.
  std::size_t q_at(Index t, Index h, Index x) const {
    return as_size((t * d.heads + h) * d.key_dim + x);
  }
  std::size_t k_at(Index t, Index h, Index x) const {
    return as_size((t * d.kv_heads + d.kv_head(h)) * d.key_dim + x);
  }
  std::size_t v_at(Index t, Index h, Index y) const {
    return as_size((t * d.kv_heads + d.kv_head(h)) * d.value_dim + y);
  }
  std::size_t out_at(Index t, Index h, Index y) const {
    return as_size((t * d.heads + h) * d.value_dim + y);
  }
  std::size_t g_at(Index t, Index h, Index x) const {
    return d.g_per_head ? as_size(t * d.heads + h) : q_at(t, h, x);
  }
  std::size_t state_at(std::size_t n, Index h) const {
    return (n * as_size(d.heads) + as_size(h)) * state_size();
  }
  std::size_t state_size() const { return as_size(d.key_dim * d.value_dim); }

  double decay(Index t, Index h, Index x, Index y) const {
    double log = 0;
    if (!g.empty()) log += g[g_at(t, h, x)];
    if (!g_gamma.empty()) log += g_gamma[as_size(h)];
    if (!gk.empty()) log += gk[q_at(t, h, x)];
    if (!gv.empty()) log += gv[out_at(t, h, y)];
    return std::exp(log);
  }

  LinearDims d;
  std::vector<double> q, k, v, g, g_gamma, gk, gv, initial_state;
};

using State = std::vector<double>;  // [K,V]

/// The state before the first token of sequence n and after each one.
std::vector<State> states(const Call& c, std::size_t n, Index h) {
  const LinearSequence& s = c.d.sequences[n];
  State state(c.state_size());
  if (!c.initial_state.empty()) {
    const auto first = c.initial_state.begin() + static_cast<std::ptrdiff_t>(c.state_at(n, h));
    std::copy_n(first, state.size(), state.begin());
  }
  std::vector<State> all{state};
  for (Index step = 0; step < s.tokens.size(); ++step) {
    const Index t = c.d.token(s, step);
    std::size_t cell = 0;
    for (Index x = 0; x < c.d.key_dim; ++x) {
      for (Index y = 0; y < c.d.value_dim; ++y, ++cell) {
        state[cell] =
            c.decay(t, h, x, y) * state[cell] + c.k[c.k_at(t, h, x)] * c.v[c.v_at(t, h, y)];
      }
    }
    all.push_back(state);
  }
  return all;
}

void for_each_head(const Call& c, const std::function<void(std::size_t, Index)>& f) {
  for (std::size_t n = 0; n < c.d.sequences.size(); ++n) {
    for (Index h = 0; h < c.d.heads; ++h) f(n, h);
  }
}

struct Sums {
  explicit Sums(const Call& c)
      : q(c.q.size()),
        k(c.k.size()),
        v(c.v.size()),
        g(c.g.size()),
        g_gamma(c.g_gamma.size()),
        gk(c.gk.size()),
        gv(c.gv.size()) {}
  std::vector<double> q, k, v, g, g_gamma, gk, gv;
};

/// Adds the gradient of the logarithm of one decay to all gates that it is the sum of.
void add_to_gates(const Call& c, Index t, Index h, Index x, Index y, double slope, Sums& sums) {
  if (!sums.g.empty()) sums.g[c.g_at(t, h, x)] += slope;
  if (!sums.g_gamma.empty()) sums.g_gamma[as_size(h)] += slope;
  if (!sums.gk.empty()) sums.gk[c.q_at(t, h, x)] += slope;
  if (!sums.gv.empty()) sums.gv[c.out_at(t, h, y)] += slope;
}

/// Token t, whose state was `before` and is `after`; d_state is the gradient of `after` without
/// this token's output, and becomes that of `before`.
void backward_token(const Call& c, Index t, Index h, const State& before, const State& after,
                    const std::vector<double>& d_out, State& d_state, Sums& sums) {
  std::size_t cell = 0;
  for (Index x = 0; x < c.d.key_dim; ++x) {
    for (Index y = 0; y < c.d.value_dim; ++y, ++cell) {
      const double slope_out = c.d.scale * d_out[c.out_at(t, h, y)];
      d_state[cell] += c.q[c.q_at(t, h, x)] * slope_out;
      sums.q[c.q_at(t, h, x)] += after[cell] * slope_out;
      sums.k[c.k_at(t, h, x)] += d_state[cell] * c.v[c.v_at(t, h, y)];
      sums.v[c.v_at(t, h, y)] += d_state[cell] * c.k[c.k_at(t, h, x)];
      d_state[cell] *= c.decay(t, h, x, y);
      add_to_gates(c, t, h, x, y, before[cell] * d_state[cell], sums);
    }
  }
}

}  // namespace

LinearAttentionResult reference_linear_forward(const RecurrentAttentionInputs& in,
                                               const LinearDims& d) {
  const Call c(in, d);
  std::vector<double> out(as_size(d.batch * d.tokens * d.heads * d.value_dim));
  std::vector<double> final_state;
  for_each_head(c, [&](std::size_t n, Index h) {
    const std::vector<State> all = states(c, n, h);
    for (std::size_t step = 0; step + 1 < all.size(); ++step) {
      const Index t = d.token(d.sequences[n], static_cast<Index>(step));
      std::size_t cell = 0;
      for (Index x = 0; x < d.key_dim; ++x) {
        for (Index y = 0; y < d.value_dim; ++y, ++cell) {
          out[c.out_at(t, h, y)] += d.scale * c.q[c.q_at(t, h, x)] * all[step + 1][cell];
        }
      }
    }
    final_state.insert(final_state.end(), all.back().begin(), all.back().end());
  });
  return {tensor_of(out, in.value->dtype(), d.out_shape()),
          tensor_of(final_state, DType::kFloat32, d.state_shape())};
}

LinearAttentionGradients reference_linear_backward(const RecurrentAttentionInputs& in,
                                                   const Tensor& d_out, const Tensor* d_final_state,
                                                   const LinearDims& d) {
  const Call c(in, d);
  const std::vector<double> out_slope = doubles(&d_out), state_slope = doubles(d_final_state);
  Sums sums(c);
  std::vector<double> d_initial;
  for_each_head(c, [&](std::size_t n, Index h) {
    const std::vector<State> all = states(c, n, h);
    State d_state(c.state_size());
    if (d_final_state) {
      std::copy_n(state_slope.begin() + static_cast<std::ptrdiff_t>(c.state_at(n, h)),
                  d_state.size(), d_state.begin());
    }
    for (std::size_t step = all.size() - 1; step-- > 0;) {
      backward_token(c, d.token(d.sequences[n], static_cast<Index>(step)), h, all[step],
                     all[step + 1], out_slope, d_state, sums);
    }
    d_initial.insert(d_initial.end(), d_state.begin(), d_state.end());
  });
  LinearAttentionGradients gradients;
  gradients.query = tensor_of(sums.q, *in.query);
  gradients.key = tensor_of(sums.k, *in.key);
  gradients.value = tensor_of(sums.v, *in.value);
  if (in.g) gradients.g = tensor_of(sums.g, *in.g);
  if (in.g_gamma) gradients.g_gamma = tensor_of(sums.g_gamma, *in.g_gamma);
  if (in.gk) gradients.gk = tensor_of(sums.gk, *in.gk);
  if (in.gv) gradients.gv = tensor_of(sums.gv, *in.gv);
  if (in.initial_state) gradients.initial_state = tensor_of(d_initial, *in.initial_state);
  return gradients;
}

}  // namespace maskctl::attention
