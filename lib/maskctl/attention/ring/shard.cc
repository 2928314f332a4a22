// Cuts the whole mask and bias into the parts that two ranks share.
#include "maskctl/attention/ring/shard.h"

#include <algorithm>

#include "maskctl/attention/arrays/slices.h"

namespace maskctl::attention {
namespace {

/// The range on an axis of the bias: axes of 1 serve all places.
Range on_axis(const Tensor& bias, Index axis, Range range) {
  return bias.extent(axis) == 1 ? Range{0, 1} : range;
}

}  // namespace

MaskArguments ring_mask(const RingAttentionOptions& o) {
  MaskArguments mask = o.mask;
  if (mask.causal) mask.causal_block_size.reset();
  const MaskInfo* const info = mask.mask_info;
  if (!info || info->fields().attention_mask || mask.q_segment_ids) return mask;
  // Ids that are stored alone follow segment_padding.
  mask.mask_info = nullptr;
  mask.q_segment_ids = info->fields().q_segment_ids.get();
  mask.kv_segment_ids = info->fields().kv_segment_ids.get();
  return mask;
}

SoftmaxOptions ring_softmax(const RingAttentionOptions& o) {
  SoftmaxOptions softmax = o.softmax;
  softmax.bias_order = BiasOrder::kAfterCap;
  if (o.deterministic) softmax.dropout = 0;
  softmax.q_block = o.query_chunk_size;
  softmax.k_block = o.key_chunk_size;
  return softmax;
}

RingShard::RingShard(const Communicator& ring, const Tensor& query, const Tensor& key,
                     const Tensor& value, const RingAttentionOptions& options)
    : options_(options), rank_(ring.rank()), ranks_(ring.size()) {
  SoftmaxInputs inputs{&query, &key, &value, nullptr, nullptr, options.softmax_aux};
  d_ = checked_dims(inputs, ring_softmax(options));
  Dims whole = d_;
  whole.queries *= ranks_, whole.keys *= ranks_;
  if (options.bias) check_bias(*options.bias, whole);
  mask_ = compose(ring_mask(options),
                  {whole.batch, whole.q_heads, whole.kv_heads, whole.queries, whole.keys})
              .mask;
}

Mask RingShard::mask(Range keys) const {
  return sliced(mask_, {0, mask_.batch()}, {0, mask_.heads()}, queries(), keys);
}

std::optional<Tensor> RingShard::bias(Range keys) const {
  if (!options_.bias) return std::nullopt;
  const Tensor& bias = *options_.bias;
  return slice_of(slice_of(bias, 2, on_axis(bias, 2, queries())), 3, on_axis(bias, 3, keys));
}

void RingShard::add_bias_gradient(const Tensor& part, Range keys, Tensor& whole) const {
  const Range rows = on_axis(whole, 2, queries()), columns = on_axis(whole, 3, keys);
  const auto from = part.as<float>();
  std::size_t n = 0;
  for (Index plane = 0; plane < whole.extent(0) * whole.extent(1); ++plane) {
    for (Index i = rows.begin; i < rows.end; ++i) {
      float* const to = whole.as<float>().data() + (plane * whole.extent(2) + i) * whole.extent(3);
      for (Index j = columns.begin; j < columns.end; ++j) to[j] += from[n++];
    }
  }
}

SoftmaxOptions RingShard::softmax(Range keys, EmptyRow empty_row) const {
  SoftmaxOptions softmax = ring_softmax(options_);
  softmax.empty_row = empty_row;
  softmax.first_query = queries().begin;
  softmax.first_key = keys.begin;
  return softmax;
}

}  // namespace maskctl::attention
