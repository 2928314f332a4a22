// The backward pass of one rank: gradients of keys and values travel with them.
#include <algorithm>

#include "maskctl/attention/core/dims.h"
#include "maskctl/attention/ring/ring_shard.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::attention {
namespace {

void add(const Tensor& part, Tensor& sum) {
  const auto from = part.as<float>();
  const auto to = sum.as<float>();
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
}

/// An array that goes round the ring, and the place where the next one arrives.
struct Traveller {
  explicit Traveller(Tensor first) : held(std::move(first)), next(held.dtype(), held.shape()) {}
  void start(Communicator& ring) { ring.start(held.bytes(), next.bytes()); }
  void arrive() { std::swap(held, next); }

  Tensor held, next;
};

}  // namespace

SoftmaxGradients ring_attention_shard_backward(Communicator& ring, const Tensor& query,
                                               const Tensor& key, const Tensor& value,
                                               const SoftmaxResult& forward, const Tensor& d_out,
                                               const RingAttentionOptions& options,
                                               const Tensor* d_lse) {
  const RingShard shard(ring, query, key, value, options);
  const Tensor q = astype(query, DType::kFloat32), slope = astype(d_out, DType::kFloat32);
  const SoftmaxResult result{astype(forward.out, DType::kFloat32), forward.lse};
  Traveller k(astype(key, DType::kFloat32)), v(astype(value, DType::kFloat32));
  Traveller d_k(Tensor(DType::kFloat32, key.shape())), d_v(Tensor(DType::kFloat32, value.shape()));
  Tensor d_query(DType::kFloat32, query.shape());
  std::optional<Tensor> d_bias, d_sinks;
  if (options.bias) d_bias.emplace(DType::kFloat32, options.bias->shape());

  for (Index t = 0; t < shard.ranks(); ++t) {
    // The sums of these keys arrive while their gradients of this rank are computed.
    if (t > 0) d_k.start(ring), d_v.start(ring);
    const bool more = t + 1 < shard.ranks();
    if (more) k.start(ring), v.start(ring);
    const Index owner = shard.owner(t);
    const Mask mask = shard.mask(owner);
    std::optional<SoftmaxGradients> part;
    if (t == 0 || mask.count() > 0) {
      const std::optional<Tensor> bias = shard.bias(owner);
      // Sinks have no keys: their gradient follows from the merged result, once.
      const Tensor* const sinks = t == 0 ? options.softmax_aux : nullptr;
      part = softmax_backward({&q, &k.held, &v.held, &mask, bias ? &*bias : nullptr, sinks}, result,
                              slope, shard.softmax(owner), d_lse);
    }
    if (t > 0 || more) ring.finish();
    if (t > 0) d_k.arrive(), d_v.arrive();
    if (more) k.arrive(), v.arrive();
    if (!part) continue;
    add(part->query, d_query), add(part->key, d_k.held), add(part->value, d_v.held);
    if (part->bias) shard.add_bias_gradient(astype(*part->bias, DType::kFloat32), owner, *d_bias);
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
