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

/// The call as the core takes it: heads after time.
struct Call {
  Call(const Tensor& q, const Tensor& k, const Tensor& v, const Options& o)
      : query(swap_heads_and_time(q, "query")),
        key(swap_heads_and_time(k, "key")),
        value(swap_heads_and_time(v, "value")) {
    const lazy::MaskPtr lazy_mask =
        !o.mask && o.mask_builder ? build_mask(o.mask_builder, q, k) : o.mask;
    if (lazy_mask) static_mask = lazy_mask->mask();
    inputs = {&query, &key, &value, nullptr, o.bias, o.softmax_aux};
    set_arrays(o);
    set_rules(o);
    softmax.scale = o.softmax_scale;
    softmax.soft_cap = o.logits_soft_cap;
    softmax.empty_row = o.empty_row;
    softmax.backend = o.backend;
    softmax.q_block = o.q_blocksize;
    softmax.k_block = o.kv_blocksize;
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

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
  void set_arrays(const Options& o) {
    if (o.block_size < 1) {
      throw Error(Errc::kInvalidArgument, fmt::format("block_size {} is below 1", o.block_size));
    }
    mask.block_mask = o.block_mask;
    mask.block_size = o.block_size;
    mask.block_map = o.block_map;
    mask.mask = o.cell_mask;
    mask.q_segment_ids = o.q_segment_ids;
    mask.kv_segment_ids = o.kv_segment_ids;
    mask.q_positions = o.q_positions;
    mask.kv_positions = o.kv_positions;
    if (static_mask && o.cell_mask) static_mask = zip(Op::kAnd, *static_mask, *o.cell_mask);
    if (static_mask) mask.mask = &*static_mask;
    if (o.mask_info) set_info(*o.mask_info);
  }
  /// A mask, or ids that stand for one; positions where it stores them or where ids give them.
  void set_info(const MaskInfo& given) {
    const MaskInfoFields& info = given.fields();
    const bool has_ids = info.q_segment_ids && info.kv_segment_ids;
    const bool has_positions = info.q_positions && info.kv_positions;
    if (info.attention_mask || has_ids) mask.mask_info = &given;
    if (mask.q_positions || mask.kv_positions) return;  // the caller's own win
    // Ids beside a mask may have been derived from it, and then restart anywhere.
    if (!has_positions && (!has_ids || info.attention_mask)) return;
    positions = MaskInfo(given).get_or_compute_positions();
    mask.q_positions = positions.q.get();
    mask.kv_positions = positions.kv.get();
  }
  void set_rules(const Options& o) {
    const bool chunked = o.chunk_size && !static_mask;
    if (chunked) mask.chunk_size = o.chunk_size;
    const bool by_index = !static_mask && !chunked;
    const bool by_position = mask.q_positions || mask.kv_positions;
    if (!by_index && !by_position) return;
    mask.causal = o.causal;
    mask.window = o.sliding_window;
  }
};

}  // namespace

SoftmaxResult blocksparse_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const Options& options) {
  Call call(query, key, value, options);
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
  Call call(query, key, value, options);
  const SoftmaxResult turned{swap_heads_and_time(forward.out, "out"), forward.lse};
  const Tensor slope = swap_heads_and_time(d_out, "d_out");
  SoftmaxGradients gradients;
  if (options.sequence_parts == 1) {
    gradients = masked_backward(call.inputs, call.mask, turned, slope, call.softmax, d_lse);
  } else {
    call.compose_mask();
    gradients =
        backward_in_parts(call.inputs, turned, slope, call.softmax, d_lse, options.sequence_parts);
  }
  for (Tensor* x : {&gradients.query, &gradients.key, &gradients.value}) {
    *x = swap_heads_and_time(*x, "gradient");
  }
  return gradients;
}

}  // namespace maskctl::attention
