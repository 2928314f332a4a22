// Composes mask-like arguments: rules on indices first, arrays after them.
#include "maskctl/attention/softmax/mask_arguments.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/attention/softmax/place_planes.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/leaves.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::attention {
namespace {

// Masks that arrays hold.

/// Checks the extents; a mask for each key head becomes one for each query head.
Mask fit(const Mask& mask, const MaskExtents& x, const char* what) {
  const Index heads = mask.heads();
  const bool fits = (mask.batch() == 1 || mask.batch() == x.batch) &&
                    (heads == 1 || heads == x.kv_heads || heads == x.q_heads) &&
                    mask.queries() == x.queries && mask.keys() == x.keys;
  if (!fits) {
    refuse_shape(fmt::format("{} is {}, expected [B {}, H {}, Q {}, K {}]", what, shape_text(mask),
                             any_of_text({1, x.batch}), any_of_text({1, x.kv_heads, x.q_heads}),
                             x.queries, x.keys));
  }
  if (heads == 1 || heads == x.q_heads) return mask;
  return Mask::make(mask.batch(), x.q_heads, x.queries, x.keys,
                    [&](Index b, Index h) { return mask.plane(b, h / (x.q_heads / x.kv_heads)); });
}

Mask array_mask(const Tensor& array, const MaskExtents& x) {
  if (array.rank() != 2) return fit(mask_from_dense(array), x, "attention_mask");
  if (array.extent(1) != x.keys) {
    refuse_shape(fmt::format("attention_mask is {}, expected ({}, {}): one flag for each key",
                             shape_text(array.shape()), x.batch, x.keys));
  }
  return fit(mask_from_key_padding(array, x.queries), x, "attention_mask");
}

Mask info_mask(MaskInfo info, const MaskExtents& x) {
  const MaskArray& array = info.attention_mask();
  const Mask mask = array.mask();
  if (array.rank() != 3) return fit(mask, x, "mask_info.attention_mask");
  // [B,Q,K], whose batches a Mask of rank 3 holds as heads.
  return fit(Mask::make(mask.heads(), 1, mask.queries(), mask.keys(),
                        [&](Index b, Index) { return mask.plane(0, b); }),
             x, "mask_info.attention_mask");
}

Mask block_mask(const Tensor& map, Index size, const MaskExtents& x) {
  if (map.dtype() != DType::kBool) {
    refuse(fmt::format("block_mask is {}, expected bool", name(map.dtype())));
  }
  if (size < 1) refuse(fmt::format("block_size {} is below 1", size));
  const Index rank = map.rank(), rows = ceil_div(x.queries, size), columns = ceil_div(x.keys, size);
  const bool ranked = rank >= 2 && rank <= 4;
  const Index batch = rank == 4 ? map.extent(0) : 1, heads = rank > 2 ? map.extent(rank - 3) : 1;
  if (!ranked || map.extent(rank - 2) != rows || map.extent(rank - 1) != columns) {
    refuse_shape(fmt::format("block_mask is {}, expected [B, H, {}, {}] for blocks of {}",
                             shape_text(map.shape()), rows, columns, size));
  }
  const auto cells = map.as<std::uint8_t>();
  const Mask mask = Mask::make(batch, heads, x.queries, x.keys, [&](Index b, Index h) {
    const auto first = as_size((b * heads + h) * rows * columns);
    return block_grid(x.queries, x.keys, size, size, cells.subspan(first, as_size(rows * columns)),
                      columns);
  });
  return fit(mask, x, "block_mask");
}

// Numbers for each token.

/// Integers [T] or [B,T] in rows; one row may serve all batches.
struct TokenRows {
  TokenRows(const Tensor& array, const MaskExtents& x, Index tokens, const char* what) {
    const bool fits = (array.rank() == 1 && array.extent(0) == tokens) ||
                      (array.rank() == 2 && array.extent(1) == tokens &&
                       (array.extent(0) == 1 || array.extent(0) == x.batch));
    if (!fits) {
      refuse_shape(fmt::format("{} is {}, expected ({}, {})", what, shape_text(array.shape()),
                               x.batch, tokens));
    }
    values = as_int32(array, what);
    length = tokens;
    rows = array.rank() == 2 ? array.extent(0) : 1;
  }
  std::span<const std::int32_t> row(Index b) const {
    return std::span(values).subspan(as_size(rows == 1 ? 0 : b * length), as_size(length));
  }
  std::vector<std::int32_t> values;
  Index length = 0, rows = 1;
};

Mask segment_mask(const MaskArguments& a, const MaskExtents& x) {
  if (!a.q_segment_ids) refuse("kv_segment_ids are given without q_segment_ids");
  TokenRows q(*a.q_segment_ids, x, x.queries, "q_segment_ids");
  TokenRows kv(a.kv_segment_ids ? *a.kv_segment_ids : *a.q_segment_ids, x, x.keys,
               a.kv_segment_ids ? "kv_segment_ids" : "q_segment_ids (of keys too)");
  std::int32_t padding = 0;
  if (a.segment_padding == SegmentPadding::kNegative) {
    padding = -1;
    for (std::int32_t& id : q.values) id = std::max(id, padding);
    for (std::int32_t& id : kv.values) id = std::max(id, padding);
  }
  return Mask::make(std::max(q.rows, kv.rows), 1, x.queries, x.keys, [&](Index b, Index) {
    return equal_ids(q.row(b), kv.row(b), padding, Side::kBoth);
  });
}

// Rules on indices, positions and sequences.

/// How far a query sees to the left and to the right of its own place.
struct Reach {
  std::optional<Index> left, right;
};

Reach reach_of(const MaskArguments& a) {
  Reach reach;
  if (a.window) {
    for (const std::optional<Index>& side : {a.window->left, a.window->right}) {
      if (side && *side < 0) {
        refuse(
            fmt::format("sliding_window reaches {} keys to one side; expected 0 or more, or "
                        "none for no limit",
                        *side));
      }
    }
    reach = {a.window->left, a.window->right};
  }
  if (a.causal) reach.right = 0;
  for (std::optional<Index>* side : {&reach.left, &reach.right}) {
    if (*side) *side = std::min(**side, kUnbounded);
  }
  return reach;
}

Mask position_mask(const MaskArguments& a, Reach reach, const MaskExtents& x) {
  if (!a.q_positions || !a.kv_positions) {
    refuse("q_positions and kv_positions are given one without the other");
  }
  const TokenRows q(*a.q_positions, x, x.queries, "q_positions");
  const TokenRows kv(*a.kv_positions, x, x.keys, "kv_positions");
  const auto wide = [](std::span<const std::int32_t> row) {
    return std::vector<Index>(row.begin(), row.end());
  };
  return Mask::make(std::max(q.rows, kv.rows), 1, x.queries, x.keys, [&](Index b, Index) {
    return position_plane(wide(q.row(b)), wide(kv.row(b)), reach.left, reach.right);
  });
}

Mask index_mask(const MaskArguments& a, Reach reach, const MaskExtents& x) {
  const Index shift = a.align == Align::kBottomRight ? x.keys - x.queries : 0;
  return Mask(diagonal_band(x.queries, x.keys, reach.left ? shift - *reach.left : -kUnbounded,
                            reach.right ? shift + *reach.right : kUnbounded));
}

/// Windows and causality on whichever places the call has.
Mask place_mask(const MaskArguments& a, Reach reach, const std::vector<Sequence>& sequences,
                const MaskExtents& x) {
  if (a.q_positions || a.kv_positions) return position_mask(a, reach, x);
  if (!a.cum_seqlens_q) return index_mask(a, reach, x);
  Diagonals diagonals{{}, reach.right, a.align != Align::kTopLeft};
  if (reach.left) diagonals.low = -*reach.left;
  return Mask::make(x.batch, 1, x.queries, x.keys, [&](Index b, Index) {
    std::vector<Sequence> row;
    std::ranges::copy_if(sequences, std::back_inserter(row),
                         [b](const Sequence& s) { return s.batch == b; });
    return sequence_plane(row, diagonals, x.queries, x.keys);
  });
}

/// The window with its sink tokens, under `causal`.
Mask reach_mask(const MaskArguments& a, const std::vector<Sequence>& sequences,
                const MaskExtents& x) {
  const Reach reach = reach_of(a);
  if (a.sink_tokens < 0) refuse(fmt::format("attention_sink_size {} is below 0", a.sink_tokens));
  const Mask windowed = place_mask(a, reach, sequences, x);
  if (a.sink_tokens == 0 || !a.window) return windowed;
  MaskArguments without_window = a;
  without_window.window.reset();
  const Mask allowed = place_mask(without_window, reach_of(without_window), sequences, x);
  const Mask sinks(
      rectangle(x.queries, x.keys, {0, x.queries}, {0, std::min(a.sink_tokens, x.keys)}));
  return zip(Op::kOr, windowed, zip(Op::kAnd, sinks, allowed));
}

PlanePtr chunk_plane(Index size, const MaskExtents& x) {
  if (size < 1) refuse(fmt::format("chunk_size {} is below 1", size));
  std::vector<Slab> slabs;
  for (Index first = 0; first < std::min(x.queries, x.keys); first += size) {
    slabs.push_back({{first, std::min(first + size, x.queries)}, {{first, 1, 0, 1}}});
  }
  return bands(x.queries, x.keys, slabs);
}

PlanePtr block_causal_plane(Index size, const MaskExtents& x) {
  if (size < 1) refuse(fmt::format("causal_block_size {} is below 1", size));
  std::vector<Slab> slabs;
  for (Index first = 0; first < x.queries; first += size) {
    // The last block J that a query of this one sees: J * size < first + size - 1.
    const Index last = floor_div(first + size - 2, size);
    slabs.push_back({{first, std::min(first + size, x.queries)}, {{0, (last + 1) * size, 0, 0}}});
  }
  return bands(x.queries, x.keys, slabs);
}

// Lengths.

/// [B] lengths from 0 to `most`; `most` for all when the array is absent.
std::vector<Index> lengths_of(const Tensor* array, Index batch, Index most, const char* what) {
  if (!array) return std::vector<Index>(as_size(batch), most);
  if (array->rank() != 1 || array->extent(0) != batch) {
    refuse_shape(fmt::format("{} are {}, expected ({},)", what, shape_text(array->shape()), batch));
  }
  std::vector<Index> lengths = as_int64(*array, what);
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    if (lengths[b] >= 0 && lengths[b] <= most) continue;
    refuse(fmt::format("{}[{}] is {}, expected 0 to {}", what, b, lengths[b], most));
  }
  return lengths;
}

Mask length_mask(const std::vector<Index>& queries, const std::vector<Index>& keys,
                 const MaskExtents& x) {
  return Mask::make(x.batch, 1, x.queries, x.keys, [&](Index b, Index) {
    return rectangle(x.queries, x.keys, {0, queries[as_size(b)]}, {0, keys[as_size(b)]});
  });
}

std::vector<Sequence> sequences_in(const MaskArguments& a, const MaskExtents& x) {
  if (!a.cum_seqlens_q != !a.cum_seqlens_k) {
    refuse("cum_seqlens_q and cum_seqlens_k are given one without the other");
  }
  if (!a.cum_seqlens_q) return {};
  if (a.q_positions || a.kv_positions || a.query_lengths || a.key_lengths) {
    refuse("cumulative lengths are given beside positions or lengths; leave one out");
  }
  return sequences_of(*a.cum_seqlens_q, *a.cum_seqlens_k, x.batch, x.queries, x.keys);
}

std::vector<Index> query_ends(const std::vector<Sequence>& sequences, Index batch) {
  std::vector<Index> ends(as_size(batch));
  for (const Sequence& s : sequences) ends[as_size(s.batch)] = s.queries.end;
  return ends;
}

}  // namespace

ComposedMask compose(const MaskArguments& a, const MaskExtents& x) {
  const std::vector<Sequence> sequences = sequences_in(a, x);
  ComposedMask composed{reach_mask(a, sequences, x), {}};
  // A first mask is kept as it is: kernels then recognise the plane of a block map.
  bool all_open = !a.causal && !a.window && !a.cum_seqlens_q && !a.q_positions && !a.kv_positions;
  const auto keep = [&](const Mask& mask) {
    composed.mask = all_open ? mask : zip(Op::kAnd, composed.mask, mask);
    all_open = false;
  };
  if (a.chunk_size) keep(Mask(chunk_plane(*a.chunk_size, x)));
  if (a.causal_block_size) keep(Mask(block_causal_plane(*a.causal_block_size, x)));
  if (a.cum_seqlens_q) composed.query_ends = query_ends(sequences, x.batch);
  if (a.query_lengths || a.key_lengths) {
    const auto queries = lengths_of(a.query_lengths, x.batch, x.queries, "query_lengths");
    keep(length_mask(queries, lengths_of(a.key_lengths, x.batch, x.keys, "key_lengths"), x));
    if (a.query_lengths) composed.query_ends = queries;
  }
  if (a.q_segment_ids || a.kv_segment_ids) keep(segment_mask(a, x));
  if (a.block_mask) keep(block_mask(*a.block_mask, a.block_size, x));
  if (a.block_map) keep(fit(Mask(a.block_map->plane()), x, "block_map"));
  if (a.mask) keep(fit(*a.mask, x, "mask"));
  if (a.mask_info) keep(info_mask(*a.mask_info, x));
  if (a.attention_mask) keep(array_mask(*a.attention_mask, x));
  return composed;
}

}  // namespace maskctl::attention
