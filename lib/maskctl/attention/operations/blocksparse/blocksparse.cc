// Block-sparse attention over the shared core: heads go after time and back.
#include "maskctl/attention/operations/blocksparse/blocksparse.h"

#include <fmt/format.h>

#include "maskctl/attention/operations/blocksparse/query_parts.h"
#include "maskctl/attention/softmax/dims.h"
#include "maskctl/attention/softmax/head_groups.h"
#include "maskctl/attention/softmax/masked_softmax.h"
#include "maskctl/base/error.h"

namespace maskctl::attention {
namespace {

using Options = BlocksparseAttentionOptions;

/// The static mask of each head as one lazy mask.
lazy::MaskPtr build_mask(const MaskBuilder& build, const Tensor& query, const Tensor& key) {
  const Index q_heads = query.extent(1), kv_heads = key.extent(1);
  if (kv_heads == 0 || q_heads % kv_heads != 0) return nullptr;  // the core says so
  std::vector<lazy::MaskPtr> heads;
  for (Index h = 0; h < q_heads; ++h) {
    heads.push_back(build(query.extent(2), key.extent(2), q_heads, h, q_heads / kv_heads));
    if (heads.back()) continue;
    throw Error(Errc::kInvalidArgument,
                fmt::format("mask_builder gave no mask for head {} of {}", h, q_heads));
  }
  return lazy::multi_head_mask(std::move(heads));
}

/// The call as masked_forward takes it: heads after time.
struct TimeFirst {
  TimeFirst(const Tensor& q, const Tensor& k, const Tensor& v, const Options& o)
      : query(swap_heads_and_time(q, "query")),
        key(swap_heads_and_time(k, "key")),
        value(swap_heads_and_time(v, "value")),
        mask(o.mask),
        softmax(o.softmax) {
    inputs = {&query, &key, &value, nullptr, o.bias, o.softmax_aux};
    if (mask.block_size < 1) {
      throw Error(Errc::kInvalidArgument, fmt::format("block_size {} is below 1", mask.block_size));
    }
    const lazy::MaskPtr lazy_mask =
        !o.static_mask && o.mask_builder ? build_mask(o.mask_builder, q, k) : o.static_mask;
    if (lazy_mask) set_static_mask(lazy_mask->mask());
    if (mask.mask_info) set_info(*mask.mask_info);
    drop_rules();
  }
  TimeFirst(const TimeFirst&) = delete;
  TimeFirst& operator=(const TimeFirst&) = delete;

  /// The mask of all queries, for calls that are computed in parts.
  void compose_mask() {
    const Dims d = checked_dims(inputs, softmax);
    composed = compose(mask, {d.batch, d.q_heads, d.kv_heads, d.queries, d.keys}).mask;
    inputs.mask = &*composed;
  }

  Tensor query, key, value;
  std::optional<Mask> static_mask, composed;
  QkvArrays positions;
  SoftmaxInputs inputs;
  MaskArguments mask;
  SoftmaxOptions softmax;

 private:
  void set_static_mask(Mask given) {
    static_mask = mask.mask ? zip(Op::kAnd, given, *mask.mask) : std::move(given);
    mask.mask = &*static_mask;
  }
  /// A mask, or ids that stand for one; positions where it stores them or where ids give them.
  void set_info(const MaskInfo& given) {
    const MaskInfoFields& info = given.fields();
    const bool has_ids = info.q_segment_ids && info.kv_segment_ids;
    const bool has_positions = info.q_positions && info.kv_positions;
    if (!info.attention_mask && !has_ids) mask.mask_info = nullptr;
    if (mask.q_positions || mask.kv_positions) return;  // the caller's own win
    // Ids beside a mask may have been derived from it, and then restart anywhere.
    if (!has_positions && (!has_ids || info.attention_mask)) return;
    positions = MaskInfo(given).get_or_compute_positions();
    mask.q_positions = positions.q.get();
    mask.kv_positions = positions.kv.get();
  }
  /// A static mask takes the place of chunks; it and chunks take that of causal and window, which
  /// go on where they compare positions.
  void drop_rules() {
    if (static_mask) mask.chunk_size.reset();
    const bool by_index = !static_mask && !mask.chunk_size;
    if (by_index || mask.q_positions || mask.kv_positions) return;
    mask.causal = false;
    mask.window.reset();
  }
};

}  // namespace

SoftmaxResult blocksparse_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const Options& options) {
  TimeFirst call(query, key, value, options);
  SoftmaxResult result;
  if (options.sequence_parts == 1) {
    result = masked_forward(call.inputs, call.mask, call.softmax);
  } else {
    call.compose_mask();
    result = forward_in_parts(call.inputs, call.softmax, options.sequence_parts);
  }
  result.out = swap_heads_and_time(result.out, "out");
  return result;
}

SoftmaxGradients blocksparse_attention_backward(const Tensor& query, const Tensor& key,
                                                const Tensor& value, const SoftmaxResult& forward,
                                                const Tensor& d_out, const Options& options,
                                                const Tensor* d_lse) {
  TimeFirst call(query, key, value, options);
  const SoftmaxResult time_first{swap_heads_and_time(forward.out, "out"), forward.lse};
  const Tensor gradient = swap_heads_and_time(d_out, "d_out");
  SoftmaxGradients gradients;
  if (options.sequence_parts == 1) {
    gradients = masked_backward(call.inputs, call.mask, time_first, gradient, call.softmax, d_lse);
  } else {
    call.compose_mask();
    gradients = backward_in_parts(call.inputs, time_first, gradient, call.softmax, d_lse,
                                  options.sequence_parts);
  }
  for (Tensor* x : {&gradients.query, &gradients.key, &gradients.value}) {
    *x = swap_heads_and_time(*x, "gradient");
  }
  return gradients;
}

}  // namespace maskctl::attention
