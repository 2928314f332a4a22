// All arguments that close cells in a call, and their composition into one lazy mask.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "maskctl/attention/calls/window.h"
#include "maskctl/mask/blocks/block_map.h"
#include "maskctl/mask/mask.h"
#include "maskctl/mask/steps/named_array.h"

namespace maskctl::attention {

/// Which segment ids mark padding, that is, tokens that see nothing and that no token sees.
enum class SegmentPadding : std::uint8_t { kNegative, kZero };

/// The mask arguments of a call. A cell is open if every given argument opens it. Mask arrays may
/// have any dtype, nonzero = open; ids, positions and lengths are integers.
struct MaskArguments {
  /// [B,Tk]: key padding, zero = padding. Or [B,Tq,Tk], or [B,H,Tq,Tk] with H = 1, Hkv or Hq. B may
  /// be 1.
  const Tensor* attention_mask = nullptr;
  /// A lazy mask [B or 1, 1 or Hkv or Hq, Tq, Tk].
  const Mask* mask = nullptr;
  /// A single plane, used for all batch rows and heads.
  const BlockMap* block_map = nullptr;
  /// bool [nq,nk], [H,nq,nk] or [B,H,nq,nk], where H and B may be 1 and n = ceil(T / block_size).
  /// Cell (i, j) is open if block (i / block_size, j / block_size) is.
  const Tensor* block_mask = nullptr;
  Index block_size = 64;

  /// causal: j <= i + shift. window: i + shift - left <= j <= i + shift + right. The shift is 0 for
  /// kTopLeft (the default) and Tk - Tq for kBottomRight.
  bool causal = false;
  std::optional<Window> window;
  Align align = Align::kUnset;
  /// Keys 0 .. sink_tokens - 1 are inside every window (but `causal` still applies to them).
  Index sink_tokens = 0;
  /// Causal inside chunks: j <= i and i / chunk_size == j / chunk_size.
  std::optional<Index> chunk_size;
  /// Causal between blocks of c tokens, all open inside a block: (i / c + 1) * c - 1 > (j / c) * c.
  /// But with c = 1, a query does not see its own key.
  std::optional<Index> causal_block_size;

  /// [B]: the keys j >= key_lengths[b] are closed; the queries i >= query_lengths[b] are void (see
  /// ComposedMask).
  const Tensor* query_lengths = nullptr;
  const Tensor* key_lengths = nullptr;
  /// [N+1] cumulative lengths, nondecreasing from 0; give both or neither. If B = N > 1, row n
  /// contains one padded sequence of cum[n+1] - cum[n] tokens. If B = 1, the row contains N packed
  /// sequences that do not see each other. causal and window are then relative to each sequence,
  /// bottom-right unless `align` is set; queries that belong to no sequence are void (see
  /// ComposedMask).
  const Tensor* cum_seqlens_q = nullptr;
  const Tensor* cum_seqlens_k = nullptr;

  /// Ids of tokens, [T] or [B or 1, T]: tokens see each other if their ids are equal. Key ids
  /// default to the query ids.
  const Tensor* q_segment_ids = nullptr;
  const Tensor* kv_segment_ids = nullptr;
  SegmentPadding segment_padding = SegmentPadding::kNegative;
  /// Positions of tokens, [T] or [B or 1, T], both or neither: causal and window compare these
  /// instead of indices.
  const Tensor* q_positions = nullptr;
  const Tensor* kv_positions = nullptr;
};

struct MaskExtents {
  Index batch = 0, q_heads = 0, kv_heads = 0, queries = 0, keys = 0;
};

struct ComposedMask {
  Mask mask;  // [B or 1, 1 or Hq, Tq, Tk]
  /// Queries i >= query_ends[b] are void: out is 0 whatever empty_row says, and no gradient passes
  /// through them. Empty: no query is void.
  std::vector<Index> query_ends;
};

/// Composes all mask arguments. Makes no array of size Tq x Tk unless an argument has that size.
/// Throws Error(kShape, kInvalidArgument) that names the argument: extents that do not fit,
/// negative windows, sizes below 1, lengths out of range, cumulative lengths that decrease.
ComposedMask compose(const MaskArguments& arguments, const MaskExtents& extents);

}  // namespace maskctl::attention
