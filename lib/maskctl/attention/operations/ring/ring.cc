// Ring attention over whole sequences: on one device, or by a ring of ranks inside this process.
#include "maskctl/attention/operations/ring/ring.h"

#include <fmt/format.h>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/attention/arrays/slices.h"
#include "maskctl/attention/ring/on_devices.h"
#include "maskctl/attention/ring/shard.h"
#include "maskctl/attention/softmax/checked.h"
#include "maskctl/attention/softmax/masked_softmax.h"
#include "maskctl/base/work_scope.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::attention {
namespace {

constexpr Index kSequenceAxis = 1;  // axis of queries and keys
constexpr Index kLseTime = 2;       // axis of queries in the lse

void check_time(const char* what, const Tensor& x, Index ranks, bool even) {
  if (ranks < 1) {
    refuse(fmt::format("ring_size {} is below 1", ranks));
  }
  if (x.rank() != 4 || (even && x.extent(kSequenceAxis) % ranks != 0)) {
    refuse_shape(
        fmt::format("{} is {}, expected 4 axes and a length that {} ranks "
                    "share evenly",
                    what, shape_text(x.shape()), ranks));
  }
}

/// Checks that the ranks can share the sequences, and returns the extents of the whole call.
Dims checked_whole(const Tensor& query, const Tensor& key, const Tensor& value,
                   const RingAttentionOptions& o) {
  check_time("query", query, o.ring_size, o.assign == Assign::kContiguous);
  check_time("key", key, o.ring_size, true);
  check_time("value", value, o.ring_size, true);
  return {query.extent(0),
          query.extent(kSequenceAxis),
          key.extent(kSequenceAxis),
          query.extent(2),
          key.extent(2),
          query.extent(3),
          value.extent(3)};
}

/// Cuts arrays of the whole call into the parts of each rank, and puts parts back.
class Cut {
 public:
  Cut(const RingAttentionOptions& options, const Dims& whole)
      : options_(options), keys_(whole.keys) {
    options_.all_queries = whole.queries;
    options_.steps = nullptr;  // steps are recorded only when the caller runs one shard
    shares_ = ring_shares(options, whole, options.ring_size);
  }
  /// The options for the call of each rank.
  const RingAttentionOptions& options() const { return options_; }
  Tensor queries(const Tensor& x, Index rank, Index axis = kSequenceAxis) const {
    return take(x, along(x, axis, shares_[as_size(rank)]));
  }
  void put_queries(const Tensor& part, Index rank, Tensor& whole,
                   Index axis = kSequenceAxis) const {
    put(part, along(whole, axis, shares_[as_size(rank)]), whole);
  }
  Tensor keys(const Tensor& x, Index rank) const { return slice_of(x, kSequenceAxis, range(rank)); }
  void put_keys(const Tensor& part, Index rank, Tensor& whole) const {
    write_slice(part, kSequenceAxis, range(rank).begin, whole);
  }

 private:
  Range range(Index rank) const { return part_of(keys_, options_.ring_size, rank); }

  RingAttentionOptions options_;
  Index keys_;
  Shares shares_;
};

}  // namespace

SoftmaxResult ring_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                             const RingAttentionOptions& o) {
  // The limits of the context also apply to the ranks that run inside this process.
  const WorkScope scope(o.softmax.context.limits());
  if (o.ring) return ring_attention_shard(*o.ring, query, key, value, o);
  const Dims d = checked_whole(query, key, value, o);
  if (o.ring_size == 1) {
    return masked_forward({&query, &key, &value, nullptr, o.bias, o.softmax_aux}, ring_mask(o),
                          ring_softmax(o));
  }
  SoftmaxResult whole = unwritten_result(d, query.dtype());
  const Cut cut(o, d);
  run_on_devices(o.softmax.context.backend, o.ring_size, [&](Communicator& ring) {
    const Index rank = ring.rank();
    const SoftmaxResult part = ring_attention_shard(
        ring, cut.queries(query, rank), cut.keys(key, rank), cut.keys(value, rank), cut.options());
    cut.put_queries(part.out, rank, whole.out);
    cut.put_queries(part.lse, rank, whole.lse, kLseTime);
  });
  return whole;
}

SoftmaxGradients ring_attention_backward(const Tensor& query, const Tensor& key,
                                         const Tensor& value, const SoftmaxResult& forward,
                                         const Tensor& d_out, const RingAttentionOptions& o,
                                         const Tensor* d_lse) {
  const WorkScope scope(o.softmax.context.limits());
  if (o.ring)
    return ring_attention_shard_backward(*o.ring, query, key, value, forward, d_out, o, d_lse);
  const Dims d = checked_whole(query, key, value, o);
  if (o.ring_size == 1) {
    return masked_backward({&query, &key, &value, nullptr, o.bias, o.softmax_aux}, ring_mask(o),
                           forward, d_out, ring_softmax(o), d_lse);
  }
  check_backward(d, forward, d_out, d_lse);
  SoftmaxGradients whole{Tensor(query.dtype(), query.shape()), Tensor(key.dtype(), key.shape()),
                         Tensor(value.dtype(), value.shape()), std::nullopt, std::nullopt};
  const Cut cut(o, d);
  std::vector<SoftmaxGradients> parts(as_size(o.ring_size));
  run_on_devices(o.softmax.context.backend, o.ring_size, [&](Communicator& ring) {
    const Index rank = ring.rank();
    const SoftmaxResult result{cut.queries(forward.out, rank),
                               cut.queries(forward.lse, rank, kLseTime)};
    std::optional<Tensor> part_d_lse;
    if (d_lse) part_d_lse = cut.queries(*d_lse, rank, kLseTime);
    SoftmaxGradients& part = parts[as_size(rank)];
    part = ring_attention_shard_backward(ring, cut.queries(query, rank), cut.keys(key, rank),
                                         cut.keys(value, rank), result, cut.queries(d_out, rank),
                                         cut.options(), part_d_lse ? &*part_d_lse : nullptr);
    cut.put_queries(part.query, rank, whole.query);
    cut.put_keys(part.key, rank, whole.key);
    cut.put_keys(part.value, rank, whole.value);
  });
  const auto sum = [&](const Tensor* like, std::optional<Tensor> SoftmaxGradients::*gradient) {
    if (!like) return;
    Tensor all(DType::kFloat32, like->shape());
    // Added in rank order, so that equal calls give equal bits.
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
