// The backward pass of one rank: gradients of keys and values travel with them.
#include <algorithm>
#include <limits>

#include "maskctl/attention/arrays/slices.h"
#include "maskctl/attention/backends.h"
#include "maskctl/attention/reference/ring.h"
#include "maskctl/attention/ring/shard.h"
#include "maskctl/attention/softmax/dims.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::attention {
namespace {

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
    if (lse.as<float>()[as_size(row)] != -std::numeric_limits<float>::infinity()) continue;
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
