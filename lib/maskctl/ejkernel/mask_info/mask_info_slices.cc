// Transforms of MaskInfo that may slice it: sliding windows and key lengths.
#include <fmt/format.h>

#include <algorithm>

#include "maskctl/ejkernel/mask_info/debug_trace.h"
#include "maskctl/ejkernel/mask_info/mask_info_arrays.h"
#include "maskctl/ejkernel/mask_info/python_error.h"
#include "maskctl/mask/planes/bands.h"

namespace maskctl {
namespace {

std::pair<Index, Index> sides_of(const SlidingWindow& window) {
  if (const Index* size = std::get_if<Index>(&window)) {
    if (*size < 0) {
      throw PythonError(PythonType::kValueError,
                        fmt::format("Invalid sliding_window: expected a non-negative integer, but "
                                    "got {}. Window size must be >= 0.",
                                    *size));
    }
    return {*size, *size};
  }
  const auto [left, right] = std::get<std::pair<Index, Index>>(window);
  if (left < 0 || right < 0) {
    throw PythonError(PythonType::kValueError,
                      fmt::format("Invalid sliding_window: expected non-negative values, but got "
                                  "({}, {}). Both left and right window sizes must be >= 0.",
                                  left, right));
  }
  return {left, right};
}

/// [B,1,Q,K]: query q sees the keys q + offset - left .. q + offset + right.
Mask window_mask(const Mask& base, const PerBatch& offset, std::pair<Index, Index> sides) {
  const Index left = int32_from(sides.first), right = int32_from(sides.second);
  std::vector<std::int32_t> rows;
  for (const Index row : batch_values(offset, base.batch())) rows.push_back(int32_from(row));
  return planes_of_values(rows, base.queries(), base.keys(), [&](Index row) {
    return int32_band(base.queries(), base.keys(), row - left, row + right);
  });
}

/// start_b = clip(end_b - width, 0, extent - width), as int32.
std::vector<Index> starts_before(std::span<const Index> ends, Index width, Index extent) {
  std::vector<Index> starts;
  for (const Index end : ends) {
    const auto start = static_cast<std::int32_t>(static_cast<std::uint32_t>(end - width));
    starts.push_back(std::clamp<Index>(start, 0, std::max<Index>(extent - width, 0)));
  }
  return starts;
}

void require_ids(const Array& ids, const char* side) {
  if (!ids || ids->rank() == 2 || ids->rank() == 3) return;
  throw PythonError(PythonType::kValueError,
                    fmt::format("{}_segment_ids must be 2D or 3D, got shape {}.", side,
                                shape_text(ids->shape())));
}

/// Slices an array, which may be None.
Array cut(const Array& array, Index axis, std::span<const Index> starts, Index width) {
  return array ? make_array(slice_batches(*array, axis, starts, width)) : nullptr;
}
Array cut(const Array& array, Index axis, Range range) {
  return array ? make_array(slice_axis(*array, axis, range)) : nullptr;
}

/// The token axis of ids [B,S] or [B,H,S].
Index token_axis(const Array& ids) { return ids ? ids->rank() - 1 : 0; }

/// Cuts out, for each batch row, the query row `index`, and `width` keys of which the first is key
/// index - left. Both are moved into the mask if they are outside.
MaskInfo::Replacement decode_slice(const MaskInfoFields& fields, const Mask& mask, Index left,
                                   Index width, const PerBatch& index) {
  if (mask.queries() == 0) {
    throw PythonError(PythonType::kTypeError, "slice size 1 is out of range: the mask has no rows");
  }
  std::vector<Index> rows = batch_values(index, mask.batch()), keys;
  for (Index& row : rows) {
    row = std::clamp<Index>(row, 0, mask.queries() - 1);
    keys.push_back(std::clamp<Index>(row - left, 0, std::max<Index>(mask.keys() - width, 0)));
  }
  require_ids(fields.q_segment_ids, "q");
  require_ids(fields.kv_segment_ids, "kv");
  MaskInfo::Replacement out;
  out.attention_mask = MaskArray(slice_batches(mask, rows, 1, keys, width));
  out.q_segment_ids = cut(fields.q_segment_ids, token_axis(fields.q_segment_ids), rows, 1);
  out.kv_segment_ids = cut(fields.kv_segment_ids, token_axis(fields.kv_segment_ids), keys, width);
  out.q_positions = cut(fields.q_positions, 1, rows, 1);
  out.kv_positions = cut(fields.kv_positions, 1, keys, width);
  return out;
}

/// Cuts out the last `width` keys, and keeps all query rows.
MaskInfo::Replacement prefill_slice(const MaskInfoFields& fields, const Mask& mask, Index width) {
  const Range keys{std::max<Index>(mask.keys() - width, 0), mask.keys()};
  require_ids(fields.kv_segment_ids, "kv");
  MaskInfo::Replacement out;
  out.attention_mask =
      MaskArray(sliced(mask, {0, mask.batch()}, {0, mask.heads()}, {0, mask.queries()}, keys));
  out.kv_segment_ids = cut(fields.kv_segment_ids, token_axis(fields.kv_segment_ids), keys);
  out.kv_positions = cut(fields.kv_positions, 1, keys);
  return out;
}

/// Replaces the ids at or past the length of their batch row by -1: where(position < length_b, ids,
/// -1).
Array ids_below(const Array& ids, std::span<const Index> lengths) {
  if (!ids) return nullptr;
  Tensor out = *int32_array(ids);
  const Index tokens = extent_of(out.shape(), -1);
  if (out.rank() < 2 || out.extent(0) != static_cast<Index>(lengths.size())) {
    throw PythonError(PythonType::kTypeError,
                      fmt::format("kv_segment_ids of shape {} for {} lengths",
                                  shape_text(out.shape()), lengths.size()));
  }
  const auto all = out.as<std::int32_t>();
  const Index batch_tokens = out.elements() / std::max<Index>(out.extent(0), 1);
  for (Index i = 0; i < out.elements(); ++i) {
    if (i % tokens >= lengths[static_cast<std::size_t>(i / batch_tokens)]) {
      all[static_cast<std::size_t>(i)] = -1;
    }
  }
  return make_array(std::move(out));
}

void require_slice(Index width, Index extent) {
  if (width >= 0 && width <= extent) return;
  throw PythonError(
      PythonType::kTypeError,
      fmt::format("slice size {} is out of range, must be within [0, {}]", width, extent));
}

/// Returns the numbers of kv_lengths, one for each batch row, like kv_lengths.reshape(B).
std::vector<Index> lengths_of(const Tensor& kv_lengths, Index batch) {
  Tensor flat = kv_lengths;
  flat.reshape({flat.elements()});
  return batch_values(make_array(std::move(flat)), batch);
}

}  // namespace

MaskInfo MaskInfo::apply_sliding_window(const SlidingWindow& window,
                                        const SlidingWindowOptions& options) {
  trace_call("MaskInfo.apply_sliding_window");
  const auto [left, right] = sides_of(window);
  require_lengths(*this, "apply sliding window");
  const bool decode = options.mode == "decode";
  if (decode && !options.index) {
    throw PythonError(PythonType::kValueError,
                      "index parameter is required when mode='decode'. Please provide the current "
                      "position index for decode mode.");
  }
  const MaskArray base = get_or_compute_attention_mask();
  require_rank4(base);
  const Mask all = base.mask();
  const Mask mask = zip(Op::kAnd, all, window_mask(all, options.offset, {left, right}));
  const Index both = std::min(left + right + 1, mask.keys());
  Replacement fields;
  if (decode) {
    fields = decode_slice(fields_, mask, left, both, *options.index);
  } else if (options.mode == "prefill") {
    const bool is_int = std::holds_alternative<Index>(window);
    fields = prefill_slice(fields_, mask, is_int ? std::min(left, mask.keys()) : both);
  } else {
    fields.attention_mask = MaskArray(mask);
  }
  fields.baked_in = fields_.baked_in;
  fields.baked_in->sliding_window = true;
  return replace(fields);
}

MaskInfo MaskInfo::apply_kv_lengths(const Tensor& kv_lengths, const KvLengthOptions& options) {
  trace_call("MaskInfo.apply_kv_lengths");
  if (!options.q_len) throw PythonError(PythonType::kValueError, "q_len must be provided.");
  const MaskArray base = get_or_compute_attention_mask();
  require_rank4(base);
  Mask mask = base.mask();
  const Index batch = mask.batch(), queries = mask.queries(), keys = mask.keys();
  const std::vector<Index> lengths = lengths_of(kv_lengths, batch);
  const auto ends = options.end_index ? batch_values(*options.end_index, batch) : lengths;
  const Index width = options.sliding_window ? std::min(*options.sliding_window, keys) : keys;
  require_slice(*options.q_len, queries);
  require_slice(width, keys);

  std::vector<std::int32_t> valid;
  for (const Index length : lengths)
    valid.push_back(int32_from(std::clamp<Index>(length, 0, keys)));
  mask = zip(Op::kAnd, mask, planes_of_values(valid, queries, keys, [&](Index length) {
               return rectangle(queries, keys, {0, queries}, {0, length});
             }));
  const auto q_starts = starts_before(ends, *options.q_len, queries);
  const auto k_starts = starts_before(lengths, width, keys);
  Replacement fields;
  fields.q_segment_ids = cut(fields_.q_segment_ids, 1, q_starts, *options.q_len);
  fields.kv_segment_ids = fields_.kv_segment_ids;
  if (options.end_index) fields.kv_segment_ids = ids_below(fields.kv_segment_ids, lengths);
  if (options.sliding_window)
    fields.kv_segment_ids = cut(fields.kv_segment_ids, 1, k_starts, width);
  fields.attention_mask = MaskArray(slice_batches(mask, q_starts, *options.q_len, k_starts, width));
  return replace(fields);
}

}  // namespace maskctl
