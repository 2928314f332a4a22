// Computes the gradients of gates by sums over the tokens of a chunk, from the last to the first.
#include "maskctl/kernels/cpu/linear/gate_gradients.h"

#include <algorithm>
#include <numeric>

namespace maskctl::attention {
namespace {

double sum_of(const std::vector<double>& x) { return std::accumulate(x.begin(), x.end(), 0.0); }

}  // namespace

GateGradients::GateGradients(const LinearDims& d, Index capacity)
    : keys_(d.key_dim),
      values_(d.value_dim),
      stride_(round_up(values_, kColumnGroup)),
      key_gates_(as_size(capacity * keys_)),
      value_gates_(as_size(capacity * values_)),
      key_carry_(as_size(keys_)),
      value_carry_(as_size(values_)),
      head_gates_(as_size(capacity)) {}

void GateGradients::carry(const float* state, const float* d_state) {
  sum_products(state, d_state, stride_, keys_, values_, key_carry_.data(), value_carry_.data());
}

void GateGradients::find(const Chunk& chunk, const Terms& keys, const Terms* values) {
  for (Index j = chunk.segments(); j-- > 0;) {
    const Range tokens{std::max<Index>(chunk.segment(j).begin, 1), chunk.segment(j).end};
    sum_back(keys.plus, keys.minus, tokens, keys_, key_carry_.data(), key_gates_.data(),
             head_gates_.data());
    if (values) {
      sum_back(values->plus, values->minus, tokens, values_, value_carry_.data(),
               value_gates_.data(), nullptr);
    }
    if (j > 0) forget(chunk, j);
  }
}

/// Sets to 0 the sums, and the gradients of the gates of the first token of segment j, wherever the
/// decays into segment j are 0: the true values are 0, but the sums contain rounding errors.
void GateGradients::forget(const Chunk& chunk, Index j) {
  const Index t = chunk.segment(j).begin;
  const bool all = chunk.forgets(j);
  const auto clear = [&](const Decays& decays, std::vector<double>& carry, Buffer& gates) {
    const float* const across = decays.across(j - 1);
    for (Index x = 0; x < decays.width(); ++x) {
      if (!all && !(across && across[x] == 0)) continue;
      carry[as_size(x)] = 0;
      gates[as_size(t * decays.width() + x)] = 0;
    }
  };
  clear(chunk.keys().decays(), key_carry_, key_gates_);
  clear(chunk.values().decays(), value_carry_, value_gates_);
  head_gates_[as_size(t)] = sum_of(key_carry_);
}

void GateGradients::write(Index count, Index first, HeadGradients& gradients) {
  const auto narrow = [](double x) { return static_cast<float>(x); };
  std::ranges::transform(key_carry_, key_gates_.begin(), narrow);
  std::ranges::transform(value_carry_, value_gates_.begin(), narrow);
  head_gates_[0] = sum_of(key_carry_);
  for (Index t = count; gradients.by_head && t-- > 0;) {
    gradients.g_gamma += head_gates_[as_size(t)];
    if (gradients.head_gates)
      *gradients.head_gates.row(first + t) = narrow(head_gates_[as_size(t)]);
  }
  for (const RowsOf<float>& rows : gradients.key_gates) {
    if (rows) scale_rows({key_gates_.data(), keys_}, count, keys_, {}, rows.from(first));
  }
  if (!gradients.value_gates) return;
  scale_rows({value_gates_.data(), values_}, count, values_, {}, gradients.value_gates.from(first));
}

}  // namespace maskctl::attention
