#include "maskctl/attention/ring/reference_rank.h"

#include "maskctl/attention/arrays/slices.h"
#include "maskctl/attention/ring/exchange.h"
#include "maskctl/attention/softmax/softmax.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::attention {
namespace {

constexpr Index kShardAxis = 1;

/// The shards of all ranks, concatenated along the time axis, in f32.
Tensor collected(Communicator& ring, const RingShard& shard, const Tensor& own) {
  const std::vector<Tensor> parts = gathered(ring, astype(own, DType::kFloat32));
  std::vector<Index> shape = own.shape();
  shape[kShardAxis] = shard.all_keys().size();
  Tensor whole(DType::kFloat32, shape);
  for (Index rank = 0; rank < shard.ranks(); ++rank) {
    write_slice(parts[as_size(rank)], kShardAxis, shard.keys(rank).begin, whole);
  }
  return whole;
}

/// `mine` is this rank's contribution to the gradients of all keys. Returns the sum over all ranks
/// for this rank's own keys.
Tensor sum_of_own(Communicator& ring, const RingShard& shard, const Tensor& mine) {
  Tensor sum = slice_of(mine, kShardAxis, shard.keys(shard.rank()));
  Tensor theirs(DType::kFloat32, sum.shape());
  for (Index t = 1; t < shard.ranks() && sum.elements() > 0; ++t) {
    const Tensor part = slice_of(mine, kShardAxis, shard.keys(shard.owner(t)));
    ring.send(shard.owner(t), part.bytes());
    ring.receive(shard.reader(t), theirs.bytes());
    ring.finish();
    add(theirs, sum);
  }
  return sum;
}

/// A call with this rank's queries and the keys of all ranks.
struct WholeKeys {
  WholeKeys(Communicator& ring, const RingShard& shard, const Tensor& q, const Tensor& k,
            const Tensor& v, const RingAttentionOptions& o)
      : query(astype(q, DType::kFloat32)),
        key(collected(ring, shard, k)),
        value(collected(ring, shard, v)),
        mask(shard.mask(shard.all_keys())),
        bias(shard.bias(shard.all_keys())),
        softmax(shard.softmax(shard.all_keys(), o.softmax.empty_row)) {
    inputs = {&query, &key, &value, &mask, bias ? &*bias : nullptr, o.softmax_aux};
  }
  WholeKeys(const WholeKeys&) = delete;
  WholeKeys& operator=(const WholeKeys&) = delete;

  Tensor query, key, value;
  Mask mask;
  std::optional<Tensor> bias;
  SoftmaxOptions softmax;
  SoftmaxInputs inputs;
};

}  // namespace

SoftmaxResult ring_reference(Communicator& ring, const RingShard& shard, const Tensor& query,
                             const Tensor& key, const Tensor& value,
                             const RingAttentionOptions& options) {
  const WholeKeys call(ring, shard, query, key, value, options);
  SoftmaxResult result = softmax_forward(call.inputs, call.softmax);
  result.out = astype(result.out, query.dtype());
  return result;
}

SoftmaxGradients ring_reference_backward(Communicator& ring, const RingShard& shard,
                                         const Tensor& query, const Tensor& key,
                                         const Tensor& value, const SoftmaxResult& forward,
                                         const Tensor& d_out, const RingAttentionOptions& options,
                                         const Tensor* d_lse) {
  const WholeKeys call(ring, shard, query, key, value, options);
  const SoftmaxResult result{astype(forward.out, DType::kFloat32), forward.lse};
  const SoftmaxGradients mine =
      softmax_backward(call.inputs, result, astype(d_out, DType::kFloat32), call.softmax, d_lse);
  SoftmaxGradients gradients{
      astype(mine.query, query.dtype()), astype(sum_of_own(ring, shard, mine.key), key.dtype()),
      astype(sum_of_own(ring, shard, mine.value), value.dtype()), std::nullopt, mine.sinks};
  if (!mine.bias) return gradients;
  Tensor d_bias(DType::kFloat32, options.bias->shape());
  shard.add_bias_gradient(astype(*mine.bias, DType::kFloat32), shard.all_keys(), d_bias);
  gradients.bias = astype(d_bias, options.bias->dtype());
  return gradients;
}

}  // namespace maskctl::attention
