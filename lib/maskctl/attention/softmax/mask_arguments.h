// Everything that closes cells in a call, composed into one lazy mask.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "maskctl/attention/window.h"
#include "maskctl/mask/blocks/block_map.h"
#include "maskctl/mask/mask.h"
#include "maskctl/mask/steps/named_array.h"

namespace maskctl::attention {

/// Which segment ids mark padding: tokens that see nothing and that nothing sees.
enum class SegmentPadding : std::uint8_t { kNegative, kZero };

/// Mask-like arguments; all that are given must open a cell for it to be open.
/// Arrays of masks are of any dtype, nonzero = may attend; ids, positions and lengths are integers.
struct MaskArguments {
  /// [B,Tk]: keys that are not padding; [B,Tq,Tk]; or [B,H,Tq,Tk] with H = 1, Hkv or Hq. B may
  /// be 1.
  const Tensor* attention_mask = nullptr;
  /// [B or 1, 1 or Hkv or Hq, Tq, Tk].
  const Mask* mask = nullptr;
  /// One plane for all batches and heads.
  const BlockMap* block_map = nullptr;
  /// bool [nq,nk], [H,nq,nk] or [B,H,nq,nk] (H, B may be 1), n = ceil(T / block_size): cell (i, j)
  /// is open when block (i / block_size, j / block_size) is.
  const Tensor* block_mask = nullptr;
  Index block_size = 64;

  /// j <= i + shift; window: i + shift - left <= j <= i + shift + right. The shift is 0 (kTopLeft,
  /// the default) or Tk - Tq (kBottomRight).
  bool causal = false;
  std::optional<Window> window;
  Align align = Align::kUnset;
  /// Keys 0 .. sink_tokens - 1 stay inside every window; `causal` still closes them.
  Index sink_tokens = 0;
  /// Same chunk and j <= i, both from 0: i / chunk_size == j / chunk_size.
  std::optional<Index> chunk_size;
  /// Causal between blocks of c tokens, open inside: (i / c + 1) * c - 1 > (j / c) * c.
  std::optional<Index> causal_block_size;

  /// [B]: keys at or past key_lengths are closed; queries at or past query_lengths are void.
  const Tensor* query_lengths = nullptr;
  const Tensor* key_lengths = nullptr;
  /// [N+1], nondecreasing from 0; give both or neither. B = N > 1: row n holds the first
  /// cum[n+1] - cum[n] tokens of a padded sequence. B = 1: N sequences back to back, each of which
  /// sees only itself.
  /// causal and window then count inside each sequence, bottom-right unless align says otherwise;
  /// queries of no sequence are void.
  const Tensor* cum_seqlens_q = nullptr;
  const Tensor* cum_seqlens_k = nullptr;

  /// [T] or [B or 1, T]: equal ids see each other; ids of keys default to those of queries.
  const Tensor* q_segment_ids = nullptr;
  const Tensor* kv_segment_ids = nullptr;
  SegmentPadding segment_padding = SegmentPadding::kNegative;
  /// [T] or [B or 1, T], both or none: causal and window compare these instead of indices.
  const Tensor* q_positions = nullptr;
  const Tensor* kv_positions = nullptr;
};

struct MaskExtents {
  Index batch = 0, q_heads = 0, kv_heads = 0, queries = 0, keys = 0;
};

struct ComposedMask {
  Mask mask;  // [B or 1, 1 or Hq, Tq, Tk]
  /// Queries from query_ends[b] on are void: out is 0 whatever the policy for empty rows, and no
  /// gradient passes. Empty when there are none.
  std::vector<Index> query_ends;
};

/// Nothing of size Tq x Tk is made unless an argument has that size.
/// Throws Error(kShape, kInvalidArgument) naming the argument: extents that do not fit, negative
/// windows, sizes below 1, lengths out of range, cumulative lengths that fall.
ComposedMask compose(const MaskArguments& arguments, const MaskExtents& extents);

}  // namespace maskctl::attention
