// The caches of mlx-lm.
#include "maskctl/phases/caches/rows.h"

namespace maskctl::caches {
namespace mlx_rows {

using Order = Cache::Order;
using Rollback = Cache::Rollback;

constexpr std::string_view kVersion = "mlx-lm 02901f4d";

/// A window comes as an array, no window as "causal", and one query without a window as no mask.
Cache growing(const CacheSizes& sizes) {
  Cache out = all_tokens(sizes.window ? window_of(sizes) : kCausal);
  if (!sizes.window) out.one = kOpen;
  return out;
}

/// Its `keep` tokens are the sinks, of its max_size slots. Steps of several tokens are masked by
/// slots, as if none had been dropped behind the sinks.
Cache rotating(const CacheSizes& sizes) {
  Cache out = last_tokens(before(sizes) - sizes.sinks, Order::kRing, window_of(sizes));
  out.sinks = sizes.sinks;
  if (sizes.sinks > 0) out.several.of = SlotMask::Of::kSlots;
  out.one = kOpen;
  out.rollback = Rollback::kRefuses;
  return out;
}

constexpr CacheRow kRows[] = {
    {.name = "KVCache",
     .family = "mlx-lm",
     .library = kVersion,
     .source = "mlx_lm/models/cache.py: KVCache, ConcatenateKVCache and QuantizedKVCache, "
               "create_attention_mask(); mlx_lm/models/base.py: create_causal_mask()",
     .full = true,
     .make = growing},
    {.name = "RotatingKVCache",
     .family = "mlx-lm",
     .library = kVersion,
     .source = "mlx_lm/models/cache.py: RotatingKVCache, its make_mask()",
     .note = "its max_size is the window, and keep the sinks",
     .sliding = true,
     .make = rotating},
    {.name = "ChunkedKVCache",
     .family = "mlx-lm",
     .library = kVersion,
     .source = "mlx_lm/models/cache.py: ChunkedKVCache",
     .note = "its mask is made by the model, which was not read",
     .chunked = true},
};

}  // namespace mlx_rows

std::span<const CacheRow> mlx() { return mlx_rows::kRows; }

}  // namespace maskctl::caches
