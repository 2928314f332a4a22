// The float64 reference of linear attention: the recurrence in plain loops.
#include <cmath>
#include <functional>
#include <vector>

#include "maskctl/attention/arrays/to_double.h"
#include "maskctl/kernels/reference/kernels.h"

namespace maskctl::attention {
namespace {

using Numbers = LinearArrays<std::vector<double>, std::vector<double>>;

/// A problem with its arrays in float64, and functions that compute indices into them.
struct LinearInDouble : Numbers {
  explicit LinearInDouble(const LinearProblem& p)
      : Numbers(map_arrays(p, [](const auto& array) { return to_double(array); })), d(p.d) {}

  // Indices for token t (of the whole batch), query head h, key channel x and value channel y.
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

  const LinearDims& d;
};

using State = std::vector<double>;  // [K,V]

/// The states of head h in sequence n: before the first token, then after each token.
std::vector<State> states(const LinearInDouble& c, std::size_t n, Index h) {
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
            c.decay(t, h, x, y) * state[cell] + c.key[c.k_at(t, h, x)] * c.value[c.v_at(t, h, y)];
      }
    }
    all.push_back(state);
  }
  return all;
}

void for_each_head(const LinearInDouble& c, const std::function<void(std::size_t, Index)>& f) {
  for (std::size_t n = 0; n < c.d.sequences.size(); ++n) {
    for (Index h = 0; h < c.d.heads; ++h) f(n, h);
  }
}

/// Adds d_log, the gradient of the total log decay (the sum of all gates), to the gradient of each
/// gate.
void add_to_gates(const LinearInDouble& c, Index t, Index h, Index x, Index y, double d_log,
                  Numbers& sums) {
  if (!sums.g.empty()) sums.g[c.g_at(t, h, x)] += d_log;
  if (!sums.g_gamma.empty()) sums.g_gamma[as_size(h)] += d_log;
  if (!sums.gk.empty()) sums.gk[c.q_at(t, h, x)] += d_log;
  if (!sums.gv.empty()) sums.gv[c.out_at(t, h, y)] += d_log;
}

/// Backpropagates through token t, which changed the state from `before` to `after`. On entry,
/// d_state is the gradient of `after` from later tokens; on return, that of `before`.
void backward_token(const LinearInDouble& c, Index t, Index h, const State& before,
                    const State& after, const std::vector<double>& d_out, State& d_state,
                    Numbers& sums) {
  std::size_t cell = 0;
  for (Index x = 0; x < c.d.key_dim; ++x) {
    for (Index y = 0; y < c.d.value_dim; ++y, ++cell) {
      const double d_cell = c.d.scale * d_out[c.out_at(t, h, y)];
      d_state[cell] += c.query[c.q_at(t, h, x)] * d_cell;
      sums.query[c.q_at(t, h, x)] += after[cell] * d_cell;
      sums.key[c.k_at(t, h, x)] += d_state[cell] * c.value[c.v_at(t, h, y)];
      sums.value[c.v_at(t, h, y)] += d_state[cell] * c.key[c.k_at(t, h, x)];
      d_state[cell] *= c.decay(t, h, x, y);
      add_to_gates(c, t, h, x, y, before[cell] * d_state[cell], sums);
    }
  }
}

}  // namespace

void reference::linear_forward(const LinearProblem& problem, const LinearOutputs& outputs,
                               const Context&) {
  const LinearInDouble c(problem);
  const LinearDims& d = problem.d;
  std::vector<double> out(as_size(d.batch * d.tokens * d.heads * d.value_dim));
  std::vector<double> final_state;
  for_each_head(c, [&](std::size_t n, Index h) {
    const std::vector<State> all = states(c, n, h);
    for (std::size_t step = 0; step + 1 < all.size(); ++step) {
      const Index t = d.token(d.sequences[n], static_cast<Index>(step));
      std::size_t cell = 0;
      for (Index x = 0; x < d.key_dim; ++x) {
        for (Index y = 0; y < d.value_dim; ++y, ++cell) {
          out[c.out_at(t, h, y)] += d.scale * c.query[c.q_at(t, h, x)] * all[step + 1][cell];
        }
      }
    }
    final_state.insert(final_state.end(), all.back().begin(), all.back().end());
  });
  store(out, outputs.out);
  store(final_state, outputs.final_state);
}

void reference::linear_backward(const LinearProblem& problem, const LinearBackwardInputs& inputs,
                                const LinearGradientOutputs& gradients, const Context&) {
  const LinearInDouble c(problem);
  const LinearDims& d = problem.d;
  const std::vector<double> d_out = to_double(inputs.d_out);
  const std::vector<double> d_final_state = to_double(inputs.d_final_state);
  Numbers sums = map_arrays(c, [](const auto& x) { return std::vector<double>(x.size()); });
  sums.initial_state.clear();
  for_each_head(c, [&](std::size_t n, Index h) {
    const std::vector<State> all = states(c, n, h);
    State d_state(c.state_size());
    if (!d_final_state.empty()) {
      std::copy_n(d_final_state.begin() + static_cast<std::ptrdiff_t>(c.state_at(n, h)),
                  d_state.size(), d_state.begin());
    }
    for (std::size_t step = all.size() - 1; step-- > 0;) {
      backward_token(c, d.token(d.sequences[n], static_cast<Index>(step)), h, all[step],
                     all[step + 1], d_out, d_state, sums);
    }
    sums.initial_state.insert(sums.initial_state.end(), d_state.begin(), d_state.end());
  });
  store(sums.query, gradients.query);
  store(sums.key, gradients.key);
  store(sums.value, gradients.value);
  if (gradients.g) store(sums.g, *gradients.g);
  if (gradients.g_gamma) store(sums.g_gamma, *gradients.g_gamma);
  if (gradients.gk) store(sums.gk, *gradients.gk);
  if (gradients.gv) store(sums.gv, *gradients.gv);
  if (gradients.initial_state) store(sums.initial_state, *gradients.initial_state);
}

}  // namespace maskctl::attention
