// The float64 twin of softmax attention: plain loops over the open keys of each row.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "maskctl/attention/arrays/to_double.h"
#include "maskctl/attention/reference/open_keys.h"
#include "maskctl/attention/softmax/backends.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::attention {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// One call in float64, with the place of every vector.
struct Call {
  Call(const SoftmaxInputs& in, const SoftmaxOptions& o, const Dims& dims)
      : d(dims),
        options(o),
        scale(effective_scale(o, dims)),
        mask(in.mask ? *in.mask : open_mask(dims.queries, dims.keys)),
        q(doubles(in.query)),
        k(doubles(in.key)),
        v(doubles(in.value)),
        bias(doubles(in.bias)),
        sinks(doubles(in.sinks)),
        sink_array(in.sinks) {
    if (in.bias) bias_at = broadcast_strides(in.bias->shape());
  }

  Index query_at(Index b, Index i, Index h) const {
    return ((b * d.queries + i) * d.q_heads + h) * d.dim;
  }
  Index out_at(Index b, Index i, Index h) const {
    return ((b * d.queries + i) * d.q_heads + h) * d.value_dim;
  }
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

  Dims d;
  SoftmaxOptions options;
  double scale;
  Mask mask;
  std::vector<double> q, k, v, bias, sinks;
  const Tensor* sink_array;
  BroadcastStrides bias_at;
};

/// Row i of head h: its open keys, their logits and the slope of the soft cap at each.
struct Row {
  Index b = 0, h = 0, i = 0;
  std::vector<Index> keys;
  std::vector<double> logits, slopes;
  double max = -kInfinity;  // of the logits, and of the sinks unless out is not normalised
  double lse = -kInfinity;

  bool empty() const { return keys.empty(); }
};

void add_logit(const Call& c, Row& row, Index j) {
  const double z = c.scale * dot(&c.q[as_size(c.query_at(row.b, row.i, row.h))],
                                 &c.k[as_size(c.key_at(row.b, j, row.h))], c.d.dim);
  const double bias = c.bias.empty() ? 0 : c.bias[as_size(c.bias_at.at(row.b, row.h, row.i, j))];
  const bool before = c.options.bias_order == BiasOrder::kBeforeCap;
  double s = before ? z + bias : z, slope = 1;
  if (c.options.soft_cap) {
    const double t = std::tanh(s / *c.options.soft_cap);
    s = *c.options.soft_cap * t;
    slope = 1 - t * t;
  }
  row.keys.push_back(j);
  row.logits.push_back(before ? s : s + bias);
  row.slopes.push_back(slope);
}

void finish(const Call& c, Row& row) {
  const auto sinks = c.sinks_of(row.h);
  for (const double s : row.logits) row.max = std::max(row.max, s);
  double top = row.max;
  for (const double s : sinks) top = std::max(top, s);
  if (c.options.normalize) row.max = top;
  if (top == -kInfinity) return;
  double sum = 0;
  for (const double s : row.logits) sum += std::exp(s - top);
  for (const double s : sinks) sum += std::exp(s - top);
  row.lse = top + std::log(sum);
}

/// f of every row, in order of batch, head and query.
void for_each_row(const Call& c, const std::function<void(Row&)>& f) {
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

double multiplier(const Call& c, const Row& row, Index j) {
  const SoftmaxOptions& o = c.options;
  if (o.dropout == 0) return 1;
  return static_cast<double>(dropout_multiplier(o.dropout_seed, o.dropout, o.first_batch + row.b,
                                                o.first_head + row.h, o.first_query + row.i,
                                                o.first_key + j));
}

/// A row without keys and sinks follows the policy; with sinks it stays 0.
bool is_policy_row(const Call& c, const Row& row) {
  return row.empty() && c.sinks_of(row.h).empty();
}

void write_out(const Call& c, const Row& row, double* out) {
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
  std::vector<double> q, k, v, bias, sinks;
};

/// The mean's gradient: each value gets its share.
void backward_mean(const Call& c, const Row& row, const double* d_out, Sums& sums) {
  const double weight = 1 / static_cast<double>(c.d.keys);
  for (Index j = 0; j < c.d.keys; ++j) {
    double* dv = &sums.v[as_size(c.value_at(row.b, j, row.h))];
    for (Index x = 0; x < c.d.value_dim; ++x) dv[x] += weight * d_out[x];
  }
}

/// Adds what (row, key number t) contributes; ds is the gradient of its logit.
void backward_key(const Call& c, const Row& row, std::size_t t, double ds, Sums& sums) {
  const Index j = row.keys[t];
  const double dz = ds * row.slopes[t];
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

void backward_row(const Call& c, const Row& row, const double* d_out, double d_lse, Sums& sums) {
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

}  // namespace

SoftmaxResult reference_forward(const SoftmaxInputs& in, const SoftmaxOptions& options,
                                const Dims& d) {
  const Call c(in, options, d);
  Tensor out(DType::kFloat64, {d.batch, d.queries, d.q_heads, d.value_dim});
  Tensor lse(DType::kFloat32, {d.batch, d.q_heads, d.queries});
  for_each_row(c, [&](Row& row) {
    write_out(c, row, out.as<double>().data() + c.out_at(row.b, row.i, row.h));
    lse.as<float>()[as_size((row.b * d.q_heads + row.h) * d.queries + row.i)] =
        static_cast<float>(row.lse);
  });
  return {astype(out, in.query->dtype()), std::move(lse)};
}

SoftmaxGradients reference_backward(const SoftmaxInputs& in, const Tensor& d_out,
                                    const SoftmaxOptions& options, const Tensor* d_lse,
                                    const Dims& d) {
  const Call c(in, options, d);
  const std::vector<double> out_slope = doubles(&d_out), lse_slope = doubles(d_lse);
  Sums sums{std::vector<double>(c.q.size()), std::vector<double>(c.k.size()),
            std::vector<double>(c.v.size()), std::vector<double>(c.bias.size()),
            std::vector<double>(c.sinks.size())};
  for_each_row(c, [&](Row& row) {
    const Index place = (row.b * d.q_heads + row.h) * d.queries + row.i;
    backward_row(c, row, out_slope.data() + c.out_at(row.b, row.i, row.h),
                 lse_slope.empty() ? 0 : lse_slope[as_size(place)], sums);
  });
  SoftmaxGradients gradients{tensor_of(sums.q, *in.query), tensor_of(sums.k, *in.key),
                             tensor_of(sums.v, *in.value), std::nullopt, std::nullopt};
  if (in.bias) gradients.bias = tensor_of(sums.bias, *in.bias);
  if (in.sinks) gradients.sinks = tensor_of(sums.sinks, *in.sinks);
  return gradients;
}

Tensor reference_weights(const SoftmaxInputs& in, const SoftmaxOptions& options, const Dims& d) {
  const Call c(in, options, d);
  Tensor weights(DType::kFloat32, {d.batch, d.q_heads, d.queries, d.keys});
  for_each_row(c, [&](Row& row) {
    float* out =
        weights.as<float>().data() + ((row.b * d.q_heads + row.h) * d.queries + row.i) * d.keys;
    if (is_policy_row(c, row) && options.empty_row != EmptyRow::kZero) {
      const bool mean = options.empty_row == EmptyRow::kMean;
      std::fill(out, out + d.keys, mean ? 1 / static_cast<float>(d.keys) : std::nanf(""));
    }
    for (std::size_t t = 0; t < row.keys.size(); ++t) {
      out[row.keys[t]] = static_cast<float>(std::exp(row.logits[t] - row.lse));
    }
  });
  return weights;
}

}  // namespace maskctl::attention
