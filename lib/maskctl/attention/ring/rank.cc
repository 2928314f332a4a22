// The passes of one rank. Forward, partial results of all shards of keys are merged by their lse;
// backward, gradients of keys and values travel with them.
#include <algorithm>
#include <cmath>
#include <limits>

#include "maskctl/attention/arrays/slices.h"
#include "maskctl/attention/backends.h"
#include "maskctl/attention/cpu/heads.h"
#include "maskctl/attention/reference/ring.h"
#include "maskctl/attention/ring/shard.h"
#include "maskctl/attention/softmax/dims.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::attention {
namespace {

constexpr float kNothing = -std::numeric_limits<float>::infinity();

/// ln(exp(a) + exp(b)), and what each part weighs in the sum.
struct Merged {
  float lse, a, b;
};
Merged merge(float a, float b) {
  const float top = std::max(a, b);
  if (top == kNothing) return {kNothing, 0, 0};
  const float lse = top + std::log1p(std::exp(std::min(a, b) - top));
  return {lse, std::exp(a - lse), std::exp(b - lse)};
}

/// Rows of a result, [B,T,H,D] beside [B,H,T]: f(lse, out) of each with its number in the lse.
template <class F>
void for_each_row(SoftmaxResult& result, F&& f) {
  const Index queries = result.out.extent(1), heads = result.out.extent(2);
  const Index n = result.out.extent(3);
  for (Index row = 0; row < result.lse.elements(); ++row) {
    const Index i = row % queries, h = row / queries % heads, b = row / queries / heads;
    float* const out = result.out.as<float>().data() + ((b * queries + i) * heads + h) * n;
    f(row, result.lse.as<float>()[as_size(row)], std::span(out, as_size(n)));
  }
}

void add(const SoftmaxResult& part, SoftmaxResult& sum) {
  for_each_row(sum, [&](Index row, float& lse, std::span<float> out) {
    const Merged m = merge(lse, part.lse.as<float>()[as_size(row)]);
    lse = m.lse;
    const float* const from =
        part.out.as<float>().data() + (out.data() - sum.out.as<float>().data());
    for (std::size_t x = 0; x < out.size(); ++x) out[x] = m.a * out[x] + m.b * from[x];
  });
}

/// Sinks weigh in once, after all keys.
void finish(const Tensor* sinks, const Dims& d, SoftmaxResult& result) {
  const Floats logits(view_of(sinks));
  const Index queries = d.queries, count = sink_count(view_of(sinks));
  for_each_row(result, [&](Index row, float& lse, std::span<float> out) {
    const Index h = row / queries % d.q_heads;
    float of_sinks = kNothing;
    for (Index t = 0; t < count; ++t) {
      of_sinks = merge(of_sinks, logits.data()[first_sink(*sinks, d, h) + t]).lse;
    }
    const Merged m = merge(lse, of_sinks);
    lse = m.lse;
    if (count > 0) {
      for (float& x : out) x *= m.a;
    }
  });
}

/// The sums of all values that have passed, for each batch and key head.
class ValueSums {
 public:
  explicit ValueSums(const Dims& d) : d_(d), sums_(as_size(d.batch * d.kv_heads * d.value_dim)) {}
  void add(const Tensor& value) {
    const auto row = d_.kv_heads * d_.value_dim;
    const auto from = value.as<float>();
    for (Index n = 0; n < value.elements(); ++n) {
      sums_[as_size(n / (row * d_.keys) * row + n % row)] += static_cast<double>(from[as_size(n)]);
    }
  }
  /// [B,Hkv,Dv].
  std::vector<float> mean(Index keys) const {
    std::vector<float> mean(sums_.size());
    if (keys == 0) return mean;
    std::ranges::transform(sums_, mean.begin(), [keys](double sum) {
      return static_cast<float>(sum / static_cast<double>(keys));
    });
    return mean;
  }

 private:
  Dims d_;
  std::vector<double> sums_;
};

/// Rows that saw no key of any rank follow the policy; `means` is [B,Hkv,Dv] under kMean.
void fill_empty_rows(const Dims& d, EmptyRow policy, std::span<const float> means,
                     SoftmaxResult& result) {
  if (policy == EmptyRow::kZero) return;
  for_each_row(result, [&](Index row, float& lse, std::span<float> out) {
    if (lse != kNothing) return;
    if (policy == EmptyRow::kNan) {
      std::ranges::fill(out, std::nanf(""));
      return;
    }
    const Index h = row / d.queries % d.q_heads, b = row / d.queries / d.q_heads;
    const Index first = (b * d.kv_heads + d.kv_head(h)) * d.value_dim;
    std::ranges::copy(means.subspan(as_size(first), out.size()), out.begin());
  });
}

/// What every value of a batch and key head gets under EmptyRow::kMean: its share of d_out
/// of this rank's rows that see no key of any rank. [B,Hkv,Dv]; nothing under other policies.
std::optional<Tensor> share_of_mean(const RingShard& shard, const Tensor& lse, const Tensor& d_out,
                                    const RingAttentionOptions& options) {
  if (options.softmax.empty_row != EmptyRow::kMean ||
      sink_count(view_of(options.softmax_aux)) > 0) {
    return std::nullopt;
  }
  const Dims& d = shard.dims();
  const auto keys = static_cast<float>(shard.all_keys().size());
  Tensor share(DType::kFloat32, {d.batch, d.kv_heads, d.value_dim});
  for (Index row = 0; row < lse.elements(); ++row) {
    if (lse.as<float>()[as_size(row)] != kNothing) continue;
    const Index i = row % d.queries, h = row / d.queries % d.q_heads;
    const Index b = row / d.queries / d.q_heads;
    const float* const from =
        d_out.as<float>().data() + ((b * d.queries + i) * d.q_heads + h) * d.value_dim;
    float* const to = share.as<float>().data() + (b * d.kv_heads + d.kv_head(h)) * d.value_dim;
    for (Index x = 0; x < d.value_dim; ++x) to[x] += from[x] / keys;
  }
  return share;
}

/// Adds the share to every key of [B,Tk,Hkv,Dv].
void add_share(const Tensor& share, Tensor& d_value) {
  const Index keys = d_value.extent(1), row = d_value.extent(2) * d_value.extent(3);
  for (Index n = 0; n < d_value.extent(0) * keys; ++n) {
    const float* const from = share.as<float>().data() + n / keys * row;
    float* const to = d_value.as<float>().data() + n * row;
    for (Index x = 0; x < row; ++x) to[x] += from[x];
  }
}

}  // namespace

SoftmaxResult ring_attention_shard(Communicator& ring, const Tensor& query, const Tensor& key,
                                   const Tensor& value, const RingAttentionOptions& options) {
  const RingShard shard(ring, query, key, value, options);
  if (backend_row(options.softmax.backend).is_judge) {
    return ring_reference(ring, shard, query, key, value, options);
  }
  const Dims& d = shard.dims();
  const Tensor q = astype(query, DType::kFloat32);
  RotatingBuffer k(astype(key, DType::kFloat32)), v(astype(value, DType::kFloat32));
  SoftmaxResult sum{Tensor(DType::kFloat32, d.out_shape()), Tensor(DType::kFloat32, d.lse_shape())};
  std::ranges::fill(sum.lse.as<float>(), kNothing);
  std::optional<ValueSums> values;
  if (options.softmax.empty_row == EmptyRow::kMean) values.emplace(d);
  for (Index t = 0; t < shard.ranks(); ++t) {
    const bool more = t + 1 < shard.ranks();
    if (more) k.start(ring), v.start(ring);
    if (values) values->add(v.held);
    const Range keys = shard.keys(shard.owner(t));
    const Mask mask = shard.mask(keys);
    if (mask.count() > 0) {
      const std::optional<Tensor> bias = shard.bias(keys);
      add(softmax_forward({&q, &k.held, &v.held, &mask, bias ? &*bias : nullptr, nullptr},
                          shard.softmax(keys)),
          sum);
    }
    if (!more) break;
    ring.finish();
    k.arrive(), v.arrive();
  }
  finish(options.softmax_aux, d, sum);
  if (sink_count(view_of(options.softmax_aux)) == 0) {
    std::vector<float> means;
    if (values) means = values->mean(shard.all_keys().size());
    fill_empty_rows(d, options.softmax.empty_row, means, sum);
  }
  sum.out = astype(sum.out, query.dtype());
  return sum;
}

SoftmaxGradients ring_attention_shard_backward(Communicator& ring, const Tensor& query,
                                               const Tensor& key, const Tensor& value,
                                               const SoftmaxResult& forward, const Tensor& d_out,
                                               const RingAttentionOptions& options,
                                               const Tensor* d_lse) {
  const RingShard shard(ring, query, key, value, options);
  if (backend_row(options.softmax.backend).is_judge) {
    return ring_reference_backward(ring, shard, query, key, value, forward, d_out, options, d_lse);
  }
  const Tensor q = astype(query, DType::kFloat32), wide_d_out = astype(d_out, DType::kFloat32);
  const SoftmaxResult result{astype(forward.out, DType::kFloat32), forward.lse};
  RotatingBuffer k(astype(key, DType::kFloat32)), v(astype(value, DType::kFloat32));
  RotatingBuffer d_k(Tensor(DType::kFloat32, key.shape())),
      d_v(Tensor(DType::kFloat32, value.shape()));
  Tensor d_query(DType::kFloat32, query.shape());
  std::optional<Tensor> d_bias, d_sinks;
  if (options.bias) d_bias.emplace(DType::kFloat32, options.bias->shape());
  const std::optional<Tensor> share = share_of_mean(shard, forward.lse, wide_d_out, options);

  for (Index t = 0; t < shard.ranks(); ++t) {
    // The sums of these keys arrive while their gradients of this rank are computed.
    if (t > 0) d_k.start(ring), d_v.start(ring);
    const bool more = t + 1 < shard.ranks();
    if (more) k.start(ring), v.start(ring);
    const Range keys = shard.keys(shard.owner(t));
    const Mask mask = shard.mask(keys);
    std::optional<SoftmaxGradients> part;
    if (t == 0 || mask.count() > 0) {
      const std::optional<Tensor> bias = shard.bias(keys);
      // Sinks have no keys: their gradient follows from the merged result, once.
      const Tensor* const sinks = t == 0 ? options.softmax_aux : nullptr;
      part = softmax_backward({&q, &k.held, &v.held, &mask, bias ? &*bias : nullptr, sinks}, result,
                              wide_d_out, shard.softmax(keys), d_lse);
    }
    if (t > 0 || more) ring.finish();
    if (t > 0) d_k.arrive(), d_v.arrive();
    if (more) k.arrive(), v.arrive();
    if (share) add_share(*share, d_v.held);
    if (!part) continue;
    add(part->query, d_query), add(part->key, d_k.held), add(part->value, d_v.held);
    if (part->bias) shard.add_bias_gradient(astype(*part->bias, DType::kFloat32), keys, *d_bias);
    if (part->sinks) d_sinks = part->sinks;
  }
  d_k.start(ring), d_v.start(ring);
  ring.finish();
  d_k.arrive(), d_v.arrive();
  SoftmaxGradients gradients{astype(d_query, query.dtype()), astype(d_k.held, key.dtype()),
                             astype(d_v.held, value.dtype()), std::nullopt, d_sinks};
  if (d_bias) gradients.bias = astype(*d_bias, options.bias->dtype());
  return gradients;
}

}  // namespace maskctl::attention
