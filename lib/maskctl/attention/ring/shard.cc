// Cuts the whole mask and bias into the parts that two ranks share.
#include "maskctl/attention/ring/shard.h"

#include <array>

#include "maskctl/attention/arrays/slices.h"

namespace maskctl::attention {
namespace {

/// The part of the bias for some queries and keys; axes of 1 serve all places.
std::array<Range, 4> part_of(const Tensor& bias, Range queries, Range keys) {
  const Range one{0, 1};
  return {Range{0, bias.extent(0)}, Range{0, bias.extent(1)}, bias.extent(2) == 1 ? one : queries,
          bias.extent(3) == 1 ? one : keys};
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
  return take(*options_.bias, part_of(*options_.bias, queries(), keys));
}

void RingShard::add_bias_gradient(const Tensor& part, Range keys, Tensor& whole) const {
  add(part, part_of(whole, queries(), keys), whole);
}

SoftmaxOptions RingShard::softmax(Range keys, EmptyRow empty_row) const {
  SoftmaxOptions softmax = ring_softmax(options_);
  softmax.empty_row = empty_row;
  softmax.first_query = queries().begin;
  softmax.first_key = keys.begin;
  return softmax;
}

}  // namespace maskctl::attention
