// Ring attention on whole sequences: one device, or a ring of ranks inside the process.
#include "maskctl/attention/operations/ring/ring.h"

#include <fmt/format.h>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/attention/arrays/slices.h"
#include "maskctl/attention/ring/shard.h"
#include "maskctl/attention/softmax/masked_softmax.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::attention {
namespace {

constexpr Index kTime = 1;     // axis of queries and keys
constexpr Index kLseTime = 2;  // axis of queries in the lse

void check_divides(const char* what, const Tensor& x, Index ranks) {
  if (ranks < 1) {
    refuse(fmt::format("ring_size {} is below 1", ranks));
  }
  if (x.rank() != 4 || x.extent(kTime) % ranks != 0) {
    refuse_shape(
        fmt::format("{} is {}, expected 4 axes and a length that {} ranks "
                    "share evenly",
                    what, shape_text(x.shape()), ranks));
  }
}

Tensor part_of(const Tensor& x, const Communicator& ring, Index axis = kTime) {
  const Index width = x.extent(axis) / ring.size();
  return slice_of(x, axis, {ring.rank() * width, (ring.rank() + 1) * width});
}

void put_back(const Tensor& part, const Communicator& ring, Tensor& whole, Index axis = kTime) {
  write_slice(part, axis, ring.rank() * part.extent(axis), whole);
}

/// The extents of a call whose lengths the ranks share.
Dims checked_whole(const Tensor& query, const Tensor& key, const Tensor& value, Index ranks) {
  check_divides("query", query, ranks);
  check_divides("key", key, ranks);
  check_divides("value", value, ranks);
  return {query.extent(0), query.extent(kTime), key.extent(kTime), query.extent(2),
          key.extent(2),   query.extent(3),     value.extent(3)};
}

}  // namespace

SoftmaxResult ring_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                             const RingAttentionOptions& o) {
  const Dims d = checked_whole(query, key, value, o.ring_size);
  if (o.ring_size == 1) {
    return masked_forward({&query, &key, &value, nullptr, o.bias, o.softmax_aux}, ring_mask(o),
                          ring_softmax(o));
  }
  SoftmaxResult whole = unwritten_result(d, query.dtype());
  run_ring(o.ring_size, [&](Communicator& ring) {
    const SoftmaxResult part = ring_attention_shard(ring, part_of(query, ring), part_of(key, ring),
                                                    part_of(value, ring), o);
    put_back(part.out, ring, whole.out);
    put_back(part.lse, ring, whole.lse, kLseTime);
  });
  return whole;
}

SoftmaxGradients ring_attention_backward(const Tensor& query, const Tensor& key,
                                         const Tensor& value, const SoftmaxResult& forward,
                                         const Tensor& d_out, const RingAttentionOptions& o,
                                         const Tensor* d_lse) {
  const Dims d = checked_whole(query, key, value, o.ring_size);
  if (o.ring_size == 1) {
    return masked_backward({&query, &key, &value, nullptr, o.bias, o.softmax_aux}, ring_mask(o),
                           forward, d_out, ring_softmax(o), d_lse);
  }
  check_backward(d, forward, d_out, d_lse);
  SoftmaxGradients whole{Tensor(query.dtype(), query.shape()), Tensor(key.dtype(), key.shape()),
                         Tensor(value.dtype(), value.shape()), std::nullopt, std::nullopt};
  std::vector<SoftmaxGradients> parts(as_size(o.ring_size));
  run_ring(o.ring_size, [&](Communicator& ring) {
    const SoftmaxResult result{part_of(forward.out, ring), part_of(forward.lse, ring, kLseTime)};
    std::optional<Tensor> part_d_lse;
    if (d_lse) part_d_lse = part_of(*d_lse, ring, kLseTime);
    SoftmaxGradients& part = parts[as_size(ring.rank())];
    part = ring_attention_shard_backward(ring, part_of(query, ring), part_of(key, ring),
                                         part_of(value, ring), result, part_of(d_out, ring), o,
                                         part_d_lse ? &*part_d_lse : nullptr);
    put_back(part.query, ring, whole.query);
    put_back(part.key, ring, whole.key);
    put_back(part.value, ring, whole.value);
  });
  const auto sum = [&](const Tensor* like, std::optional<Tensor> SoftmaxGradients::*gradient) {
    if (!like) return;
    Tensor all(DType::kFloat32, like->shape());
    // In order, so that equal calls give equal bits.
    for (const SoftmaxGradients& part : parts) {
      if (part.*gradient) add(*(part.*gradient), all);
    }
    whole.*gradient = astype(all, like->dtype());
  };
  sum(o.bias, &SoftmaxGradients::bias);
  sum(o.softmax_aux, &SoftmaxGradients::sinks);
  return whole;
}

}  // namespace maskctl::attention
