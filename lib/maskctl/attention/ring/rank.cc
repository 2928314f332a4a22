// One rank: forward, the results for each shard of keys are merged by their lse; backward,
// gradients of keys and values are sent to the rank that owns them.
#include "maskctl/attention/ring/rank.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "maskctl/attention/arrays/floats.h"
#include "maskctl/attention/arrays/outputs.h"
#include "maskctl/attention/arrays/slices.h"
#include "maskctl/attention/problems/backends.h"
#include "maskctl/attention/ring/exchange.h"
#include "maskctl/attention/ring/reference_rank.h"
#include "maskctl/attention/softmax/checked.h"
#include "maskctl/attention/softmax/softmax.h"
#include "maskctl/base/stopwatch.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::attention {
namespace {

constexpr float kNothing = -std::numeric_limits<float>::infinity();

/// Two partial results merged: `lse` is that of the merged result; `a` and `b` are the factors of
/// the two outputs in its output.
struct Merged {
  float lse, a, b;
};
Merged merge(float a, float b) {
  const float top = std::max(a, b);
  if (top == kNothing) return {kNothing, 0, 0};
  const float lse = top + std::log1p(std::exp(std::min(a, b) - top));
  return {lse, std::exp(a - lse), std::exp(b - lse)};
}

/// Calls f(row, lse, out) for each row of a result with out [B,T,H,D] and lse [B,H,T]; `row` is the
/// index in the lse.
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

void merge_into(const SoftmaxResult& part, SoftmaxResult& sum) {
  for_each_row(sum, [&](Index row, float& lse, std::span<float> out) {
    const Merged m = merge(lse, part.lse.as<float>()[as_size(row)]);
    lse = m.lse;
    const float* const from =
        part.out.as<float>().data() + (out.data() - sum.out.as<float>().data());
    for (std::size_t x = 0; x < out.size(); ++x) out[x] = m.a * out[x] + m.b * from[x];
  });
}

/// Merges the sinks into the result; called once, after all keys.
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

/// The mean over the values of all ranks, for each batch row and key head: [B,Hkv,Dv].
std::vector<float> mean_value(Communicator& ring, const Dims& d, const Tensor& value) {
  const Index row = d.kv_heads * d.value_dim;
  Tensor own(DType::kFloat64, {d.batch * row});
  const auto from = value.as<float>();
  for (Index n = 0; n < value.elements(); ++n) {
    own.as<double>()[as_size(n / (row * d.keys) * row + n % row)] +=
        static_cast<double>(from[as_size(n)]);
  }
  std::vector<double> sums(as_size(d.batch * row));
  for (const Tensor& part : gathered(ring, own)) {
    std::ranges::transform(part.as<double>(), sums, sums.begin(), std::plus<>());
  }
  std::vector<float> mean(sums.size());
  const Index keys = d.keys * ring.size();
  if (keys == 0) return mean;
  std::ranges::transform(sums, mean.begin(), [keys](double sum) {
    return static_cast<float>(sum / static_cast<double>(keys));
  });
  return mean;
}

/// Fills rows that see no key of any rank as `policy` says. `means`: [B,Hkv,Dv], needed for kMean.
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

/// Under EmptyRow::kMean, every value gets the same gradient from a row that sees no key: d_out /
/// number of keys. Returns its sum over the empty rows of this rank, [B,Hkv,Dv]; nullopt under
/// other policies.
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

/// Adds `share` [B,Hkv,Dv] to every row of d_value [B,Tk,Hkv,Dv].
void add_share(const Tensor& share, Tensor& d_value) {
  const Index keys = d_value.extent(1), row = d_value.extent(2) * d_value.extent(3);
  for (Index n = 0; n < d_value.extent(0) * keys; ++n) {
    const float* const from = share.as<float>().data() + n / keys * row;
    float* const to = d_value.as<float>().data() + n * row;
    for (Index x = 0; x < row; ++x) to[x] += from[x];
  }
}

/// Reads an array as f32: directly, or from a converted copy.
class Wide {
 public:
  explicit Wide(const Tensor& array) : given_(array) {
    if (array.dtype() != DType::kFloat32) copy_ = astype(array, DType::kFloat32);
  }
  const Tensor& get() const { return copy_ ? *copy_ : given_; }

 private:
  const Tensor& given_;
  std::optional<Tensor> copy_;
};

/// Runs the work of a step while its transfers run, then waits for the transfers; measures both
/// times.
template <class Work>
void run_step(Communicator& ring, const RingAttentionOptions& options, Index bytes, Work&& work) {
  const Stopwatch working;
  work();
  const double worked = working.seconds();
  const Stopwatch waiting;
  ring.finish();
  if (options.steps) options.steps->push_back({bytes, worked, waiting.seconds()});
}

/// Sums the gradients of this rank's keys and values. Each rank computes a part of the gradients of
/// every other rank's keys, and sends it to that rank one step later. Parts are added in a fixed
/// order (own part, next rank, ...), so that equal calls give equal bits.
class KeyGradients {
 public:
  KeyGradients(Communicator& ring, const RingShard& shard, const SeenKeys& seen, const Tensor& key,
               const Tensor& value, const std::optional<Tensor>& share)
      : ring_(ring),
        shard_(shard),
        seen_(seen),
        key_(DType::kFloat32, key.shape()),
        value_(DType::kFloat32, value.shape()) {
    if (share) shares_ = gathered(ring, *share);
  }
  KeyGradients(const KeyGradients&) = delete;
  KeyGradients& operator=(const KeyGradients&) = delete;

  /// Adds the gradients of this rank's keys from its own queries (step 0).
  void add_own(const SoftmaxGradients& part) {
    add_share_of(shard_.rank());
    add(part.key, key_), add(part.value, value_);
  }
  /// Starts to send the part of step t to owner(t), and to receive this rank's part from reader(t).
  /// `part` must not change until the transfers are finished. Returns the number of bytes sent.
  Index start(Index t, const std::optional<SoftmaxGradients>& part) {
    const Index reader = shard_.reader(t);
    const Range sent = around(seen_.sent(t)), wanted = around(seen_.wanted(t));
    part_key_ = stretch_of(key_, sent), part_value_ = stretch_of(value_, sent);
    receive_runs(ring_, reader, seen_.sent(t), part_key_, sent.begin);
    receive_runs(ring_, reader, seen_.sent(t), part_value_, sent.begin);
    if (!part) return 0;
    return send_runs(ring_, shard_.owner(t), seen_.wanted(t), part->key, wanted.begin) +
           send_runs(ring_, shard_.owner(t), seen_.wanted(t), part->value, wanted.begin);
  }
  void arrive(Index t) {
    add_share_of(shard_.reader(t));
    const Range sent = around(seen_.sent(t));
    add_runs(part_key_, sent.begin, seen_.sent(t), key_);
    add_runs(part_value_, sent.begin, seen_.sent(t), value_);
  }
  const Tensor& key() const { return key_; }
  const Tensor& value() const { return value_; }

 private:
  void add_share_of(Index rank) {
    if (!shares_.empty()) add_share(shares_[as_size(rank)], value_);
  }

  Communicator& ring_;
  const RingShard& shard_;
  const SeenKeys& seen_;
  Tensor key_, value_, part_key_, part_value_;
  std::vector<Tensor> shares_;  // results of share_of_mean() of all ranks, or empty
};

/// The problem for a backend that has a kernel for whole rings; nullopt for other backends.
template <class... Arrays>
std::optional<RingProblem> own_ring(Kernel<RingProblem, Arrays...> Kernels::*kernel,
                                    Communicator& ring, const RingShard& shard, const Tensor& query,
                                    const Tensor& key, const Tensor& value) {
  const RingProblem problem{&ring, &shard, query, key, value, view_of(shard.options().softmax_aux)};
  const BackendRow& row = backend_row(shard.options().softmax.context.backend);
  return refusal(row, kernel, problem).empty() ? std::optional(problem) : std::nullopt;
}

}  // namespace

SoftmaxResult ring_attention_shard(Communicator& ring, const Tensor& query, const Tensor& key,
                                   const Tensor& value, const RingAttentionOptions& options) {
  const RingShard shard(ring, query, key, value, options);
  if (backend_row(options.softmax.context.backend).is_reference) {
    return ring_reference(ring, shard, query, key, value, options);
  }
  const Dims& d = shard.dims();
  if (const auto own = own_ring(&Kernels::ring_forward, ring, shard, query, key, value)) {
    SoftmaxResult result = unwritten_result(d, query.dtype());
    run_kernel(options.softmax.context, "ring_attention", &Kernels::ring_forward, *own,
               {result.out, result.lse});
    return result;
  }
  const Wide q(query), k(key), v(value);
  const SeenKeys seen(shard);
  KeyValues held(ring, shard, seen, k.get(), v.get());
  SoftmaxResult sum{Tensor(DType::kFloat32, d.out_shape()), Tensor(DType::kFloat32, d.lse_shape())};
  std::ranges::fill(sum.lse.as<float>(), kNothing);
  for (Index t = 0; t < shard.ranks(); ++t) {
    const bool more = t + 1 < shard.ranks();
    run_step(ring, options, more ? held.start(t + 1) : 0, [&] {
      if (!seen.any_wanted(t)) return;
      const Range keys = held.keys();
      const Mask mask = shard.mask(keys);
      const std::optional<Tensor> bias = shard.bias(keys);
      merge_into(softmax_forward({&q.get(), &held.key(), &held.value(), &mask,
                                  bias ? &*bias : nullptr, nullptr},
                                 shard.softmax(keys)),
                 sum);
    });
    if (more) held.arrive();
  }
  finish(options.softmax_aux, d, sum);
  if (sink_count(view_of(options.softmax_aux)) == 0) {
    const EmptyRow policy = options.softmax.empty_row;
    std::vector<float> means;
    if (policy == EmptyRow::kMean) means = mean_value(ring, d, v.get());
    fill_empty_rows(d, policy, means, sum);
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
  if (backend_row(options.softmax.context.backend).is_reference) {
    return ring_reference_backward(ring, shard, query, key, value, forward, d_out, options, d_lse);
  }
  if (const auto own = own_ring(&Kernels::ring_backward, ring, shard, query, key, value)) {
    check_backward(shard.dims(), forward, d_out, d_lse);
    SoftmaxGradients gradients{unwritten_like(own->query), unwritten_like(own->key),
                               unwritten_like(own->value), std::nullopt,
                               unwritten_like(own->sinks)};
    run_kernel(
        options.softmax.context, "ring_attention_backward", &Kernels::ring_backward, *own,
        {forward.out, forward.lse, d_out, view_of(d_lse)},
        {gradients.query, gradients.key, gradients.value, std::nullopt, view_of(gradients.sinks)});
    return gradients;
  }
  const Wide q(query), k(key), v(value), wide_d_out(d_out);
  const SoftmaxResult result{astype(forward.out, DType::kFloat32), forward.lse};
  const SeenKeys seen(shard);
  KeyValues held(ring, shard, seen, k.get(), v.get());
  KeyGradients sums(ring, shard, seen, key, value,
                    share_of_mean(shard, forward.lse, wide_d_out.get(), options));
  Tensor d_query(DType::kFloat32, query.shape());
  std::optional<Tensor> d_bias, d_sinks;
  if (options.bias) d_bias.emplace(DType::kFloat32, options.bias->shape());

  std::optional<SoftmaxGradients> part, last;  // gradients of this step and of the previous one
  const auto work = [&](Index t) {
    const Range keys = held.keys();
    const Mask mask = shard.mask(keys);
    const std::optional<Tensor> bias = shard.bias(keys);
    // The gradient of the sinks follows from the merged result, so it is computed only once, at
    // step 0.
    const Tensor* const sinks = t == 0 ? options.softmax_aux : nullptr;
    part = softmax_backward(
        {&q.get(), &held.key(), &held.value(), &mask, bias ? &*bias : nullptr, sinks}, result,
        wide_d_out.get(), shard.softmax(keys), d_lse);
    add(part->query, d_query);
    if (part->bias) shard.add_bias_gradient(astype(*part->bias, DType::kFloat32), keys, *d_bias);
    if (part->sinks) d_sinks = part->sinks;
  };
  for (Index t = 0; t <= shard.ranks(); ++t) {  // the last step only transfers gradients
    Index bytes = t > 1 ? sums.start(t - 1, last) : 0;
    const bool more = t + 1 < shard.ranks();
    if (more) bytes += held.start(t + 1);
    run_step(ring, options, bytes, [&] {
      if (t < shard.ranks() && (t == 0 || seen.any_wanted(t))) work(t);
    });
    if (more) held.arrive();
    if (t == 0) sums.add_own(*part);
    if (t > 1) sums.arrive(t - 1);
    last = std::exchange(part, std::nullopt);
  }
  SoftmaxGradients gradients{astype(d_query, query.dtype()), astype(sums.key(), key.dtype()),
                             astype(sums.value(), value.dtype()), std::nullopt, d_sinks};
  if (d_bias) gradients.bias = astype(*d_bias, options.bias->dtype());
  return gradients;
}

}  // namespace maskctl::attention
