// The forward pass of one rank: partial results of all shards of keys, merged by their lse.
#include <algorithm>
#include <cmath>
#include <limits>

#include "maskctl/attention/core/cpu_heads.h"
#include "maskctl/attention/ring/ring_shard.h"
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

/// Sinks weigh in once, after all keys; rows that saw nothing at all follow the policy.
void finish(const Tensor* sinks, const Dims& d, EmptyRow policy, SoftmaxResult& result) {
  const Floats logits(sinks);
  const Index queries = d.queries, count = sink_count(sinks);
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
    } else if (lse == kNothing && policy == EmptyRow::kNan) {
      std::ranges::fill(out, std::nanf(""));
    }
  });
}

}  // namespace

SoftmaxResult ring_attention_shard(Communicator& ring, const Tensor& query, const Tensor& key,
                                   const Tensor& value, const RingAttentionOptions& options) {
  const RingShard shard(ring, query, key, value, options);
  const Dims& d = shard.dims();
  const Tensor q = astype(query, DType::kFloat32);
  Tensor k = astype(key, DType::kFloat32), v = astype(value, DType::kFloat32);
  Tensor next_k(DType::kFloat32, k.shape()), next_v(DType::kFloat32, v.shape());
  SoftmaxResult sum{Tensor(DType::kFloat32, {d.batch, d.queries, d.q_heads, d.value_dim}),
                    Tensor(DType::kFloat32, {d.batch, d.q_heads, d.queries})};
  std::ranges::fill(sum.lse.as<float>(), kNothing);
  for (Index t = 0; t < shard.ranks(); ++t) {
    const bool more = t + 1 < shard.ranks();
    if (more) {
      ring.start(k.bytes(), next_k.bytes());
      ring.start(v.bytes(), next_v.bytes());
    }
    const Index owner = shard.owner(t);
    const Mask mask = shard.mask(owner);
    if (mask.count() > 0) {
      const std::optional<Tensor> bias = shard.bias(owner);
      add(softmax_forward({&q, &k, &v, &mask, bias ? &*bias : nullptr, nullptr},
                          shard.softmax(owner)),
          sum);
    }
    if (!more) break;
    ring.finish();
    std::swap(k, next_k), std::swap(v, next_v);
  }
  finish(options.softmax_aux, d, options.empty_row, sum);
  sum.out = astype(sum.out, query.dtype());
  return sum;
}

}  // namespace maskctl::attention
