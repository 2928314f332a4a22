// Block-sparse attention by means of masked_forward: moves heads behind time, and back.
#include "maskctl/attention/operations/blocksparse/blocksparse.h"

#include <fmt/format.h>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/attention/arrays/slices.h"
#include "maskctl/attention/softmax/checked.h"
#include "maskctl/attention/softmax/head_groups.h"
#include "maskctl/attention/softmax/masked_softmax.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::attention {
namespace {

constexpr Index kTime = 1;      // axis of time in [B,T,H,D]
constexpr Index kPlaneRow = 2;  // axis of queries in the lse and in the bias

/// The mask that the builder returns for a head, checked.
Mask built(const MaskBuilder& build, const MaskExtents& x, Index head) {
  const StaticMask one = build(x.queries, x.keys, x.q_heads, head, x.q_heads / x.kv_heads);
  if (!one) refuse(fmt::format("mask_builder gave no mask for head {} of {}", head, x.q_heads));
  const bool fits = one->batch() == 1 && one->heads() == 1 && one->queries() == x.queries &&
                    one->keys() == x.keys;
  if (fits) return *one;
  refuse_shape(fmt::format("mask_builder gave a mask {} for head {}, expected [1, 1, {}, {}]",
                           shape_text(*one), head, x.queries, x.keys));
}

/// The masks of all query heads in one mask [1,Hq,Tq,Tk].
StaticMask build_mask(const MaskBuilder& build, const Tensor& query, const Tensor& key,
                      Index queries) {
  const MaskExtents x{1, query.extent(1), key.extent(1), queries, key.extent(2)};
  // The operation itself reports numbers of heads that do not fit.
  if (x.kv_heads == 0 || x.q_heads % x.kv_heads != 0) return nullptr;
  std::vector<Mask> heads;
  for (Index h = 0; h < x.q_heads; ++h) heads.push_back(built(build, x, h));
  return std::make_shared<const Mask>(
      Mask::make(1, x.q_heads, x.queries, x.keys,
                 [&](Index, Index h) { return heads[as_size(h)].plane(0, 0); }));
}

/// The arguments of masked_forward for a call, with heads behind time.
struct TimeFirst {
  TimeFirst(const Tensor& q, const Tensor& k, const Tensor& v, const BlocksparseAttentionOptions& o)
      : query(swap_heads_and_time(q, "query")),
        key(swap_heads_and_time(k, "key")),
        value(swap_heads_and_time(v, "value")),
        mask(o.mask),
        softmax(o.softmax) {
    inputs = {&query, &key, &value, nullptr, o.bias, o.softmax_aux};
    if (mask.block_size < 1) {
      refuse(fmt::format("block_size {} is below 1", mask.block_size));
    }
    const Index queries = query.extent(kTime) * (o.sequence_part ? o.sequence_parts : 1);
    const StaticMask given = !o.static_mask && o.mask_builder
                                 ? build_mask(o.mask_builder, q, k, queries)
                                 : o.static_mask;
    if (given) set_static_mask(*given);
    drop_rules();
  }
  TimeFirst(const TimeFirst&) = delete;
  TimeFirst& operator=(const TimeFirst&) = delete;

  /// Composes the mask of all queries, for calls that are computed in parts.
  void compose_mask(const Dims& d) {
    composed = compose(mask, {d.batch, d.q_heads, d.kv_heads, d.queries, d.keys}).mask;
    inputs.mask = &*composed;
  }

  Tensor query, key, value;
  std::optional<Mask> static_mask, composed;
  SoftmaxInputs inputs;
  MaskArguments mask;
  SoftmaxOptions softmax;

 private:
  void set_static_mask(Mask given) {
    static_mask = mask.mask ? zip(Op::kAnd, given, *mask.mask) : std::move(given);
    mask.mask = &*static_mask;
  }
  /// A static mask overrides chunk_size. Either of them overrides causal and window, unless those
  /// compare positions.
  void drop_rules() {
    if (static_mask) mask.chunk_size.reset();
    const bool by_index = !static_mask && !mask.chunk_size;
    if (by_index || mask.q_positions || mask.kv_positions) return;
    mask.causal = false;
    mask.window.reset();
  }
};

// Attention over one part of the queries after another, as devices that split a sequence compute
// it.

/// How the queries of a call are split into parts; the call may have all parts or just one.
struct Queries {
  Queries(const SoftmaxInputs& inputs, const SoftmaxOptions& softmax,
          const BlocksparseAttentionOptions& o)
      : parts(o.sequence_parts), count(o.sequence_part ? 1 : parts) {
    SoftmaxInputs without_bias = inputs;
    without_bias.bias = nullptr;
    whole = own = checked_dims(without_bias, softmax);
    if (o.sequence_part) whole.queries *= parts;
    if (inputs.bias) check_bias(*inputs.bias, whole);
    check(o.sequence_part);
    if (o.sequence_part) first = *o.sequence_part * own.queries;
  }

  Dims whole, own;
  Index parts, count;  // parts in total, and parts that this call has
  Index first = 0;     // where the call's queries begin among all queries

  /// Calls f(rows among all queries, the same rows in the call's arrays) for each part of the call.
  template <class F>
  void for_each_part(F&& f) const {
    const Index size = whole.queries / parts;
    for (Index row = 0, n = 0; n < count; ++n, row += size) {
      f(Range{first + row, first + row + size}, Range{row, row + size});
    }
  }

 private:
  void check(std::optional<Index> part) const {
    if (parts < 1) refuse(fmt::format("sequence_parts {} is below 1", parts));
    if (whole.queries % parts != 0) {
      refuse_shape(
          fmt::format("{} queries, which {} sequence_parts do not divide", whole.queries, parts));
    }
    if (part && (*part < 0 || *part >= parts)) {
      refuse(fmt::format("sequence_part {} of {} sequence_parts: they are counted from 0", *part,
                         parts));
    }
  }
};

/// A call restricted to a range of its queries.
struct Part {
  Part(const SoftmaxInputs& whole, const SoftmaxOptions& all, Range rows, Range here)
      : query(slice_of(*whole.query, kTime, here)), inputs(whole), options(all) {
    inputs.query = &query;
    options.first_query += rows.begin;
    if (whole.mask) {
      const Mask& m = *whole.mask;
      mask = sliced(m, {0, m.batch()}, {0, m.heads()}, rows, {0, m.keys()});
      inputs.mask = &*mask;
    }
    if (whole.bias && whole.bias->extent(kPlaneRow) > 1) {
      bias = slice_of(*whole.bias, kPlaneRow, rows);
      inputs.bias = &*bias;
    }
  }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  Tensor query;
  std::optional<Mask> mask;
  std::optional<Tensor> bias;
  SoftmaxInputs inputs;
  SoftmaxOptions options;
};

/// sum += part, in f32; an empty `sum` becomes `part`.
void add_to(std::optional<Tensor>& sum, const Tensor& part) {
  sum ? add(part, *sum) : void(sum = astype(part, DType::kFloat32));
}

/// Runs softmax_forward on each part with all keys, and joins the results.
SoftmaxResult forward_in_parts(const SoftmaxInputs& inputs, const SoftmaxOptions& options,
                               const Queries& queries) {
  SoftmaxResult whole = unwritten_result(queries.own, inputs.query->dtype());
  queries.for_each_part([&](Range rows, Range here) {
    const Part part(inputs, options, rows, here);
    const SoftmaxResult result = softmax_forward(part.inputs, part.options);
    write_slice(result.out, kTime, here.begin, whole.out);
    write_slice(result.lse, kPlaneRow, here.begin, whole.lse);
  });
  return whole;
}

/// The gradients of forward_in_parts(). Those of arrays that all parts read are summed in f32.
SoftmaxGradients backward_in_parts(const SoftmaxInputs& inputs, const SoftmaxResult& forward,
                                   const Tensor& d_out, const SoftmaxOptions& options,
                                   const Tensor* d_lse, const Queries& queries) {
  check_backward(queries.own, forward, d_out, d_lse);
  Tensor d_query(inputs.query->dtype(), inputs.query->shape());
  std::optional<Tensor> d_key, d_value, d_bias, d_sinks;
  queries.for_each_part([&](Range rows, Range here) {
    const Part part(inputs, options, rows, here);
    const SoftmaxResult result{slice_of(forward.out, kTime, here),
                               slice_of(forward.lse, kPlaneRow, here)};
    std::optional<Tensor> part_d_lse;
    if (d_lse) part_d_lse = slice_of(*d_lse, kPlaneRow, here);
    const SoftmaxGradients g = softmax_backward(part.inputs, result, slice_of(d_out, kTime, here),
                                                part.options, part_d_lse ? &*part_d_lse : nullptr);
    write_slice(g.query, kTime, here.begin, d_query);
    add_to(d_key, g.key);
    add_to(d_value, g.value);
    if (g.sinks) add_to(d_sinks, *g.sinks);
    if (g.bias && !part.bias) add_to(d_bias, *g.bias);
    if (!part.bias) return;
    if (!d_bias) d_bias.emplace(DType::kFloat32, inputs.bias->shape());
    write_slice(astype(*g.bias, DType::kFloat32), kPlaneRow, rows.begin, *d_bias);
  });
  SoftmaxGradients whole{std::move(d_query), astype(*d_key, inputs.key->dtype()),
                         astype(*d_value, inputs.value->dtype()), std::nullopt, std::nullopt};
  if (d_bias) whole.bias = astype(*d_bias, inputs.bias->dtype());
  if (d_sinks) whole.sinks = astype(*d_sinks, inputs.sinks->dtype());
  return whole;
}

}  // namespace

SoftmaxResult blocksparse_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const BlocksparseAttentionOptions& options) {
  TimeFirst call(query, key, value, options);
  SoftmaxResult result;
  if (options.sequence_parts == 1) {
    result = masked_forward(call.inputs, call.mask, call.softmax);
  } else {
    const Queries queries(call.inputs, call.softmax, options);
    call.compose_mask(queries.whole);
    result = forward_in_parts(call.inputs, call.softmax, queries);
  }
  result.out = swap_heads_and_time(result.out, "out");
  return result;
}

SoftmaxGradients blocksparse_attention_backward(const Tensor& query, const Tensor& key,
                                                const Tensor& value, const SoftmaxResult& forward,
                                                const Tensor& d_out,
                                                const BlocksparseAttentionOptions& options,
                                                const Tensor* d_lse) {
  TimeFirst call(query, key, value, options);
  const SoftmaxResult time_first{swap_heads_and_time(forward.out, "out"), forward.lse};
  const Tensor gradient = swap_heads_and_time(d_out, "d_out");
  SoftmaxGradients gradients;
  if (options.sequence_parts == 1) {
    gradients = masked_backward(call.inputs, call.mask, time_first, gradient, call.softmax, d_lse);
  } else {
    const Queries queries(call.inputs, call.softmax, options);
    call.compose_mask(queries.whole);
    gradients = backward_in_parts(call.inputs, time_first, gradient, call.softmax, d_lse, queries);
  }
  for (Tensor* x : {&gradients.query, &gradients.key, &gradients.value}) {
    *x = swap_heads_and_time(*x, "gradient");
  }
  return gradients;
}

}  // namespace maskctl::attention
