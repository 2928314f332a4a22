// The float64 reference of the gated delta rule: the recurrence in plain loops.
#include <cmath>
#include <functional>
#include <vector>

#include "maskctl/attention/arrays/to_double.h"
#include "maskctl/kernels/reference/kernels.h"

namespace maskctl::attention {
namespace {

using DeltaNumbers = DeltaArrays<std::vector<double>, std::vector<double>>;

/// A problem with its arrays in float64, and functions that compute indices into them.
struct DeltaInDouble : DeltaNumbers {
  explicit DeltaInDouble(const DeltaProblem& p)
      : DeltaNumbers(map_delta_arrays(p, [](const auto& array) { return to_double(array); })),
        d(p.d) {}

  // Indices for token t (of the whole batch), value head h, key channel x and value channel y.
  std::size_t k_at(Index t, Index h, Index x) const {
    return as_size((t * d.kv_heads + d.kv_head(h)) * d.key_dim + x);
  }
  std::size_t v_at(Index t, Index h, Index y) const {
    return as_size((t * d.heads + h) * d.value_dim + y);
  }
  std::size_t g_at(Index t, Index h) const { return as_size(t * d.heads + h); }
  std::size_t state_at(std::size_t n, Index h) const {
    return (n * as_size(d.heads) + as_size(h)) * state_size();
  }
  std::size_t state_size() const { return as_size(d.key_dim * d.value_dim); }
  std::size_t cell(Index x, Index y) const { return as_size(x * d.value_dim + y); }
  double decay(Index t, Index h) const { return g.empty() ? 1 : std::exp(g[g_at(t, h)]); }

  const LinearDims& d;
};

using DeltaState = std::vector<double>;  // [K,V]

/// Returns v_t - P^T k_t for the decayed state P: what the state lacks of the new value.
std::vector<double> lacks(const DeltaInDouble& c, Index t, Index h, const DeltaState& decayed) {
  std::vector<double> out;
  for (Index y = 0; y < c.d.value_dim; ++y) {
    double held = 0;
    for (Index x = 0; x < c.d.key_dim; ++x) held += decayed[c.cell(x, y)] * c.key[c.k_at(t, h, x)];
    out.push_back(c.value[c.v_at(t, h, y)] - held);
  }
  return out;
}

DeltaState decayed(const DeltaInDouble& c, Index t, Index h, DeltaState state) {
  for (double& x : state) x *= c.decay(t, h);
  return state;
}

/// The states of head h in sequence n: before the first token, then after each token.
std::vector<DeltaState> delta_states(const DeltaInDouble& c, std::size_t n, Index h) {
  const LinearSequence& s = c.d.sequences[n];
  DeltaState state(c.state_size());
  if (!c.initial_state.empty()) {
    const auto first = c.initial_state.begin() + static_cast<std::ptrdiff_t>(c.state_at(n, h));
    std::copy_n(first, state.size(), state.begin());
  }
  std::vector<DeltaState> all{state};
  for (Index step = 0; step < s.tokens.size(); ++step) {
    const Index t = c.d.token(s, step);
    state = decayed(c, t, h, std::move(state));
    const std::vector<double> lack = lacks(c, t, h, state);
    for (Index x = 0; x < c.d.key_dim; ++x) {
      for (Index y = 0; y < c.d.value_dim; ++y) {
        state[c.cell(x, y)] += c.beta[c.g_at(t, h)] * c.key[c.k_at(t, h, x)] * lack[as_size(y)];
      }
    }
    all.push_back(state);
  }
  return all;
}

void for_each_state(const DeltaInDouble& c, const std::function<void(std::size_t, Index)>& f) {
  for (std::size_t n = 0; n < c.d.sequences.size(); ++n) {
    for (Index h = 0; h < c.d.heads; ++h) f(n, h);
  }
}

/// Backpropagates through token t, which changed the state from `before` to `after`. On entry,
/// d_state is the gradient of `after` from later tokens; on return, that of `before`.
void backward_delta(const DeltaInDouble& c, Index t, Index h, const DeltaState& before,
                    const DeltaState& after, const std::vector<double>& d_out, DeltaState& d_state,
                    DeltaNumbers& sums) {
  const DeltaState held = decayed(c, t, h, before);
  const std::vector<double> lack = lacks(c, t, h, held);
  const double beta = c.beta[c.g_at(t, h)];
  for (Index y = 0; y < c.d.value_dim; ++y) {
    const double d_cell = c.d.scale * d_out[c.v_at(t, h, y)];
    double d_written = 0;  // of beta * lack[y]
    for (Index x = 0; x < c.d.key_dim; ++x) {
      const std::size_t cell = c.cell(x, y);
      sums.query[c.k_at(t, h, x)] += after[cell] * d_cell;
      d_state[cell] += c.query[c.k_at(t, h, x)] * d_cell;
      sums.key[c.k_at(t, h, x)] += d_state[cell] * beta * lack[as_size(y)];
      d_written += d_state[cell] * c.key[c.k_at(t, h, x)];
    }
    sums.beta[c.g_at(t, h)] += d_written * lack[as_size(y)];
    sums.value[c.v_at(t, h, y)] += d_written * beta;
    for (Index x = 0; x < c.d.key_dim; ++x) {
      const std::size_t cell = c.cell(x, y);
      sums.key[c.k_at(t, h, x)] -= d_written * beta * held[cell];
      d_state[cell] -= d_written * beta * c.key[c.k_at(t, h, x)];
      if (!sums.g.empty()) sums.g[c.g_at(t, h)] += d_state[cell] * held[cell];
      d_state[cell] *= c.decay(t, h);
    }
  }
}

}  // namespace

void reference::delta_forward(const DeltaProblem& problem, const LinearOutputs& outputs,
                              const Context&) {
  const DeltaInDouble c(problem);
  const LinearDims& d = problem.d;
  std::vector<double> out(c.value.size()), final_state;
  for_each_state(c, [&](std::size_t n, Index h) {
    const std::vector<DeltaState> all = delta_states(c, n, h);
    for (std::size_t step = 0; step + 1 < all.size(); ++step) {
      const Index t = d.token(d.sequences[n], static_cast<Index>(step));
      for (Index x = 0; x < d.key_dim; ++x) {
        for (Index y = 0; y < d.value_dim; ++y) {
          out[c.v_at(t, h, y)] += d.scale * c.query[c.k_at(t, h, x)] * all[step + 1][c.cell(x, y)];
        }
      }
    }
    final_state.insert(final_state.end(), all.back().begin(), all.back().end());
  });
  store(out, outputs.out);
  store(final_state, outputs.final_state);
}

void reference::delta_backward(const DeltaProblem& problem, const LinearBackwardInputs& inputs,
                               const DeltaGradientOutputs& gradients, const Context&) {
  const DeltaInDouble c(problem);
  const LinearDims& d = problem.d;
  const std::vector<double> d_out = to_double(inputs.d_out);
  const std::vector<double> d_final_state = to_double(inputs.d_final_state);
  DeltaNumbers sums =
      map_delta_arrays(c, [](const auto& x) { return std::vector<double>(x.size()); });
  sums.initial_state.clear();
  for_each_state(c, [&](std::size_t n, Index h) {
    const std::vector<DeltaState> all = delta_states(c, n, h);
    DeltaState d_state(c.state_size());
    if (!d_final_state.empty()) {
      std::copy_n(d_final_state.begin() + static_cast<std::ptrdiff_t>(c.state_at(n, h)),
                  d_state.size(), d_state.begin());
    }
    for (std::size_t step = all.size() - 1; step-- > 0;) {
      backward_delta(c, d.token(d.sequences[n], static_cast<Index>(step)), h, all[step],
                     all[step + 1], d_out, d_state, sums);
    }
    sums.initial_state.insert(sums.initial_state.end(), d_state.begin(), d_state.end());
  });
  store(sums.query, gradients.query);
  store(sums.key, gradients.key);
  store(sums.value, gradients.value);
  store(sums.beta, gradients.beta);
  if (gradients.g) store(sums.g, *gradients.g);
  if (gradients.initial_state) store(sums.initial_state, *gradients.initial_state);
}

}  // namespace maskctl::attention
