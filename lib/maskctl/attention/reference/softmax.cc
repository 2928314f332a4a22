// The float64 reference of softmax attention: plain loops over the keys that each row sees, under a
// mask or in listed blocks.
#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <vector>

#include "maskctl/attention/arrays/to_double.h"
#include "maskctl/attention/problems/dropout.h"
#include "maskctl/attention/reference/kernels.h"

namespace maskctl::attention {
namespace {

/// A problem with its arrays in float64, and functions that compute indices into them.
struct SoftmaxInDouble {
  explicit SoftmaxInDouble(const SoftmaxProblem& p)
      : d(p.d),
        options(p.options),
        scale(p.scale),
        mask(p.mask),
        q(to_double(p.query)),
        k(to_double(p.key)),
        v(to_double(p.value)),
        bias(to_double(p.bias)),
        sinks(to_double(p.sinks)),
        sink_array(p.sinks) {
    if (p.bias) bias_at = broadcast_strides(p.bias->shape());
  }

  Index query_at(Index b, Index i, Index h) const {
    return ((b * d.queries + i) * d.q_heads + h) * d.dim;
  }
  Index out_at(Index b, Index i, Index h) const {
    return ((b * d.queries + i) * d.q_heads + h) * d.value_dim;
  }
  Index lse_at(Index b, Index i, Index h) const { return (b * d.q_heads + h) * d.queries + i; }
  Index key_at(Index b, Index j, Index h) const {
    return ((b * d.keys + j) * d.kv_heads + d.kv_head(h)) * d.dim;
  }
  Index value_at(Index b, Index j, Index h) const {
    return ((b * d.keys + j) * d.kv_heads + d.kv_head(h)) * d.value_dim;
  }
  std::span<const double> sinks_of(Index h) const {
    if (!sink_array) return {};
    return std::span(sinks).subspan(as_size(first_sink(*sink_array, d, h)),
                                    as_size(sink_count(sink_array)));
  }

  const Dims& d;
  const SoftmaxSettings& options;
  double scale;
  const Mask& mask;
  std::vector<double> q, k, v, bias, sinks;
  const std::optional<TensorView>& sink_array;
  BroadcastStrides bias_at;
};

/// Query i of head h: the keys that it sees, their logits, and the derivative of the soft cap at
/// each.
struct Row {
  Index b = 0, h = 0, i = 0;
  std::vector<Index> keys;
  std::vector<double> logits, cap_derivatives;
  double max = -reference::kInfinity;  // over the logits and, if out is normalized, the sinks
  double lse = -reference::kInfinity;

  bool empty() const { return keys.empty(); }
};

void add_logit(const SoftmaxInDouble& c, Row& row, Index j) {
  const double z = c.scale * dot(&c.q[as_size(c.query_at(row.b, row.i, row.h))],
                                 &c.k[as_size(c.key_at(row.b, j, row.h))], c.d.dim);
  const double bias = c.bias.empty() ? 0 : c.bias[as_size(c.bias_at.at(row.b, row.h, row.i, j))];
  const bool before = c.options.bias_order == BiasOrder::kBeforeCap;
  double s = before ? z + bias : z, derivative = 1;
  if (c.options.soft_cap) {
    const double t = std::tanh(s / *c.options.soft_cap);
    s = *c.options.soft_cap * t;
    derivative = 1 - t * t;
  }
  row.keys.push_back(j);
  row.logits.push_back(before ? s : s + bias);
  row.cap_derivatives.push_back(derivative);
}

void finish(const SoftmaxInDouble& c, Row& row) {
  const auto sinks = c.sinks_of(row.h);
  for (const double s : row.logits) row.max = std::max(row.max, s);
  double top = row.max;
  for (const double s : sinks) top = std::max(top, s);
  if (c.options.normalize) row.max = top;
  if (top == -reference::kInfinity) return;
  double sum = 0;
  for (const double s : row.logits) sum += std::exp(s - top);
  for (const double s : sinks) sum += std::exp(s - top);
  row.lse = top + std::log(sum);
}

/// Calls f(key) for each open key, in ascending order.
template <class F>
void for_each_key(const Keys& keys, F&& f) {
  for (const Run& run : keys.runs) {
    for (Index k = run.begin; k < run.end; ++k) f(k);
  }
  for (std::size_t w = 0; w < keys.words.size(); ++w) {
    for (std::uint64_t bits = keys.words[w]; bits != 0; bits &= bits - 1) {
      f(static_cast<Index>(w * 64) + std::countr_zero(bits));
    }
  }
}

/// Calls f(row) for each token and query head of each sequence. Keys of a block that counts n times
/// are in the row n times.
void for_each_row(const SoftmaxInDouble& c, const BlockProblem& blocks,
                  const std::function<void(Row&)>& f) {
  for (std::size_t n = 0; n < blocks.sequences.size(); ++n) {
    const TokenSequence& s = blocks.sequences[n];
    for (Index t = 0; t < s.tokens.size(); ++t) {
      for (Index h = 0; h < c.d.q_heads; ++h) {
        Row row;
        row.b = s.batch, row.h = h, row.i = s.tokens.begin + t;
        for (const KeyBlock& block : blocks.blocks(n, t, c.d.kv_head(h))) {
          for (Index time = 0; time < block.times; ++time) {
            for (Index j = block.keys.begin; j < block.keys.end; ++j) add_logit(c, row, j);
          }
        }
        finish(c, row);
        f(row);
      }
    }
  }
}

/// Calls f(row) for every row, in the order of batch, head and query.
void for_each_row(const SoftmaxInDouble& c, const std::function<void(Row&)>& f) {
  for (Index b = 0; b < c.d.batch; ++b) {
    for (Index h = 0; h < c.d.q_heads; ++h) {
      c.mask.plane(b, h)->rows({0, c.d.queries}, [&](Range rows, const Keys& keys) {
        for (Index i = rows.begin; i < rows.end; ++i) {
          Row row;
          row.b = b, row.h = h, row.i = i;
          for_each_key(keys, [&](Index j) { add_logit(c, row, j); });
          finish(c, row);
          f(row);
        }
      });
    }
  }
}

double multiplier(const SoftmaxInDouble& c, const Row& row, Index j) {
  const SoftmaxSettings& o = c.options;
  if (o.dropout == 0) return 1;
  return static_cast<double>(dropout_multiplier(o.dropout_seed, o.dropout, o.first_batch + row.b,
                                                o.first_head + row.h, o.first_query + row.i,
                                                o.first_key + j));
}

/// Whether options.empty_row decides what the row gets. A row with sinks but no keys is always 0.
bool is_policy_row(const SoftmaxInDouble& c, const Row& row) {
  return row.empty() && c.sinks_of(row.h).empty();
}

void write_out(const SoftmaxInDouble& c, const Row& row, double* out) {
  const Index n = c.d.value_dim;
  if (is_policy_row(c, row)) {
    if (c.options.empty_row == EmptyRow::kNan) std::fill(out, out + n, std::nan(""));
    if (c.options.empty_row != EmptyRow::kMean) return;
    const double weight = c.options.normalize ? 1 / static_cast<double>(c.d.keys) : 1;
    for (Index j = 0; j < c.d.keys; ++j) {
      const double* v = &c.v[as_size(c.value_at(row.b, j, row.h))];
      for (Index x = 0; x < n; ++x) out[x] += weight * v[x];
    }
    return;
  }
  const double base = c.options.normalize ? row.lse : row.max;
  for (std::size_t t = 0; t < row.keys.size(); ++t) {
    const double w = std::exp(row.logits[t] - base) * multiplier(c, row, row.keys[t]);
    const double* v = &c.v[as_size(c.value_at(row.b, row.keys[t], row.h))];
    for (Index x = 0; x < n; ++x) out[x] += w * v[x];
  }
}

struct Sums {
  explicit Sums(const SoftmaxInDouble& c)
      : q(c.q.size()), k(c.k.size()), v(c.v.size()), bias(c.bias.size()), sinks(c.sinks.size()) {}

  void store_all(const SoftmaxGradientOutputs& gradients) const {
    store(q, gradients.query);
    store(k, gradients.key);
    store(v, gradients.value);
    if (gradients.bias) store(bias, *gradients.bias);
    if (gradients.sinks) store(sinks, *gradients.sinks);
  }

  std::vector<double> q, k, v, bias, sinks;
};

/// The gradient of the mean over all keys: each value gets an equal share of d_out.
void backward_mean(const SoftmaxInDouble& c, const Row& row, const double* d_out, Sums& sums) {
  const double weight = 1 / static_cast<double>(c.d.keys);
  for (Index j = 0; j < c.d.keys; ++j) {
    double* dv = &sums.v[as_size(c.value_at(row.b, j, row.h))];
    for (Index x = 0; x < c.d.value_dim; ++x) dv[x] += weight * d_out[x];
  }
}

/// Adds the gradients that pass through key number t of the row; ds is the gradient of its logit.
void backward_key(const SoftmaxInDouble& c, const Row& row, std::size_t t, double ds, Sums& sums) {
  const Index j = row.keys[t];
  const double dz = ds * row.cap_derivatives[t];
  if (!sums.bias.empty()) {
    const bool before = c.options.bias_order == BiasOrder::kBeforeCap;
    sums.bias[as_size(c.bias_at.at(row.b, row.h, row.i, j))] += before ? dz : ds;
  }
  const Index qi = c.query_at(row.b, row.i, row.h), kj = c.key_at(row.b, j, row.h);
  for (Index x = 0; x < c.d.dim; ++x) {
    sums.q[as_size(qi + x)] += c.scale * dz * c.k[as_size(kj + x)];
    sums.k[as_size(kj + x)] += c.scale * dz * c.q[as_size(qi + x)];
  }
}

void backward_row(const SoftmaxInDouble& c, const Row& row, const double* d_out, double d_lse,
                  Sums& sums) {
  if (is_policy_row(c, row)) {
    if (c.options.empty_row == EmptyRow::kMean) backward_mean(c, row, d_out, sums);
    return;
  }
  std::vector<double> out(as_size(c.d.value_dim));
  write_out(c, row, out.data());
  const double delta = dot(d_out, out.data(), c.d.value_dim);
  for (std::size_t t = 0; t < row.keys.size(); ++t) {
    const double p = std::exp(row.logits[t] - row.lse);
    const double m = multiplier(c, row, row.keys[t]);
    const Index vj = c.value_at(row.b, row.keys[t], row.h);
    for (Index x = 0; x < c.d.value_dim; ++x) sums.v[as_size(vj + x)] += p * m * d_out[x];
    const double dp = m * dot(d_out, &c.v[as_size(vj)], c.d.value_dim);
    backward_key(c, row, t, p * (dp - delta + d_lse), sums);
  }
  if (!c.sink_array) return;
  const Index first = first_sink(*c.sink_array, c.d, row.h);
  const auto sinks = c.sinks_of(row.h);
  for (std::size_t t = 0; t < sinks.size(); ++t) {
    sums.sinks[as_size(first) + t] += std::exp(sinks[t] - row.lse) * (d_lse - delta);
  }
}

/// A call over key blocks as a SoftmaxProblem without a mask, for code that both kinds of problem
/// share.
SoftmaxProblem without_mask(const BlockProblem& c) {
  return {c.d, c.query, c.key, c.value, {}, nullptr, {}, {}, c.scale, {}};
}

}  // namespace

void reference::softmax_forward(const SoftmaxProblem& problem, const SoftmaxOutputs& outputs,
                                const Context&) {
  const SoftmaxInDouble c(problem);
  std::vector<double> out(as_size(outputs.out.elements()));
  const std::span<float> lse = outputs.lse.as<float>();
  for_each_row(c, [&](Row& row) {
    write_out(c, row, out.data() + c.out_at(row.b, row.i, row.h));
    lse[as_size(c.lse_at(row.b, row.i, row.h))] = static_cast<float>(row.lse);
  });
  store(out, outputs.out);
}

void reference::softmax_backward(const SoftmaxProblem& problem, const SoftmaxBackwardInputs& inputs,
                                 const SoftmaxGradientOutputs& gradients, const Context&) {
  const SoftmaxInDouble c(problem);
  const std::vector<double> d_out = to_double(inputs.d_out), d_lse = to_double(inputs.d_lse);
  Sums sums(c);
  for_each_row(c, [&](Row& row) {
    backward_row(c, row, d_out.data() + c.out_at(row.b, row.i, row.h),
                 d_lse.empty() ? 0 : d_lse[as_size(c.lse_at(row.b, row.i, row.h))], sums);
  });
  sums.store_all(gradients);
}

void reference::softmax_weights(const SoftmaxProblem& problem, const MutableTensorView& weights,
                                const Context&) {
  const SoftmaxInDouble c(problem);
  const std::span<float> all = weights.as<float>();
  std::ranges::fill(all, 0.0f);
  for_each_row(c, [&](Row& row) {
    float* const out = all.data() + c.lse_at(row.b, row.i, row.h) * c.d.keys;
    if (is_policy_row(c, row) && c.options.empty_row != EmptyRow::kZero) {
      const bool mean = c.options.empty_row == EmptyRow::kMean;
      std::fill(out, out + c.d.keys, mean ? 1 / static_cast<float>(c.d.keys) : std::nanf(""));
    }
    for (std::size_t t = 0; t < row.keys.size(); ++t) {
      out[row.keys[t]] = static_cast<float>(std::exp(row.logits[t] - row.lse));
    }
  });
}

void reference::blocks_forward(const BlockProblem& blocks, const SoftmaxOutputs& outputs,
                               const Context&) {
  const SoftmaxProblem problem = without_mask(blocks);
  const SoftmaxInDouble c(problem);
  std::vector<double> out(as_size(outputs.out.elements()));
  const std::span<float> lse = outputs.lse.as<float>();
  std::ranges::fill(lse, -std::numeric_limits<float>::infinity());
  for_each_row(c, blocks, [&](Row& row) {
    write_out(c, row, out.data() + c.out_at(row.b, row.i, row.h));
    lse[as_size(c.lse_at(row.b, row.i, row.h))] = static_cast<float>(row.lse);
  });
  store(out, outputs.out);
}

void reference::blocks_backward(const BlockProblem& blocks, const SoftmaxBackwardInputs& inputs,
                                const SoftmaxGradientOutputs& gradients, const Context&) {
  const SoftmaxProblem problem = without_mask(blocks);
  const SoftmaxInDouble c(problem);
  const std::vector<double> d_out = to_double(inputs.d_out);
  Sums sums(c);
  for_each_row(c, blocks, [&](Row& row) {
    backward_row(c, row, d_out.data() + c.out_at(row.b, row.i, row.h), 0, sums);
  });
  sums.store_all(gradients);
}

}  // namespace maskctl::attention
