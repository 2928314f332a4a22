// Ring attention on whole sequences: one device, or a ring of ranks inside the process.
#include "maskctl/attention/operations/ring/ring.h"

#include <fmt/format.h>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/attention/arrays/slices.h"
#include "maskctl/attention/ring/shard.h"
#include "maskctl/attention/softmax/masked_softmax.h"
#include "maskctl/base/error.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::attention {
namespace {

constexpr Index kTime = 1;     // axis of queries and keys
constexpr Index kLseTime = 2;  // axis of queries in the lse

void check_divides(const char* what, const Tensor& x, Index ranks) {
  if (ranks < 1) {
    throw Error(Errc::kInvalidArgument, fmt::format("ring_size {} is below 1", ranks));
  }
  if (x.rank() != 4 || x.extent(kTime) % ranks != 0) {
    throw Error(Errc::kShape, fmt::format("{} is {}, expected 4 axes and a length that {} ranks "
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

/// sum += part, in f32.
void add_part(const Tensor& part, std::optional<Tensor>& sum) {
  const Tensor wide = astype(part, DType::kFloat32);
  if (!sum) sum.emplace(DType::kFloat32, wide.shape());
  for (std::size_t i = 0; i < wide.as<float>().size(); ++i) {
    sum->as<float>()[i] += wide.as<float>()[i];
  }
}

void check_whole(const Tensor& query, const Tensor& key, const Tensor& value, Index ranks) {
  check_divides("query", query, ranks);
  check_divides("key", key, ranks);
  check_divides("value", value, ranks);
}

}  // namespace

SoftmaxResult ring_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                             const RingAttentionOptions& o) {
  check_whole(query, key, value, o.ring_size);
  if (o.ring_size == 1) {
    return masked_forward({&query, &key, &value, nullptr, o.bias, o.softmax_aux}, ring_mask(o),
                          ring_softmax(o));
  }
  SoftmaxResult whole{
      Tensor(query.dtype(), {query.extent(0), query.extent(1), query.extent(2), value.extent(3)}),
      Tensor(DType::kFloat32, {query.extent(0), query.extent(2), query.extent(1)})};
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
  check_whole(query, key, value, o.ring_size);
  if (o.ring_size == 1) {
    return masked_backward({&query, &key, &value, nullptr, o.bias, o.softmax_aux}, ring_mask(o),
                           forward, d_out, ring_softmax(o), d_lse);
  }
  const Index heads = query.extent(2), tokens = query.extent(kTime);
  check_shape("d_out", d_out, std::vector{query.extent(0), tokens, heads, value.extent(3)});
  check_shape("out", forward.out, d_out.shape());
  check_shape("lse", forward.lse, std::vector{query.extent(0), heads, tokens});
  if (d_lse) check_shape("d_lse", *d_lse, forward.lse.shape());
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
  for (const SoftmaxGradients& part : parts) {  // in order, so that equal calls give equal bits
    if (part.bias) add_part(*part.bias, whole.bias);
    if (part.sinks) add_part(*part.sinks, whole.sinks);
  }
  if (whole.bias) whole.bias = astype(*whole.bias, o.bias->dtype());
  if (whole.sinks) whole.sinks = astype(*whole.sinks, o.softmax_aux->dtype());
  return whole;
}

}  // namespace maskctl::attention
