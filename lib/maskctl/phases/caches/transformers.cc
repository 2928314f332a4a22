// The cache classes of transformers.
#include "maskctl/phases/caches/rows.h"

namespace maskctl::caches {
namespace transformers_rows {

using Order = Cache::Order;
using Rollback = Cache::Rollback;

constexpr std::string_view kVersion = "transformers 5.24.0";

Cache dynamic(const CacheSizes& sizes) { return all_tokens(layer_mask(sizes)); }

Cache dynamic_sliding(const CacheSizes& sizes) {
  Cache out = last_tokens(before(sizes), Order::kTime, local_mask(sizes));
  out.rollback = Rollback::kRefuses;
  return out;
}

/// The slots of tokens that were taken back are written again, and masked until then.
Cache fixed(const CacheSizes& sizes) {
  Cache out = all_tokens(layer_mask(sizes));
  out.slots = sizes.slots;
  return out;
}

Cache static_sliding(const CacheSizes& sizes) {
  Cache out = last_tokens(before(sizes), Order::kTime, local_mask(sizes));
  out.slots = before(sizes) + 1;
  out.rollback = Rollback::kRefuses;
  return out;
}

Cache quantised(const CacheSizes& sizes) {
  Cache out = all_tokens(layer_mask(sizes));
  out.rollback = Rollback::kNever;
  return out;
}

/// The layer that a DynamicCache has for such a mask.
Cache of_dynamic(const CacheSizes& sizes) {
  return sizes.window || sizes.chunk ? dynamic_sliding(sizes) : dynamic(sizes);
}

constexpr std::string_view kOffload =
    "cache_utils.py: update(), prefetch() and offload() of Cache, with offloading=True, and "
    "offload() of CacheLayerMixin";
constexpr std::string_view kSameTokens =
    "keeps the same tokens, whose keys lie on the CPU between steps";

constexpr CacheRow kRows[] = {
    {.name = "DynamicLayer",
     .family = "transformers-dynamic",
     .holder = "DynamicCache",
     .library = kVersion,
     .source = "cache_utils.py: DynamicLayer, and DynamicIndexedLayer and "
               "LinearAttentionAndFullAttentionLayer, which keep the same keys; masking_utils.py",
     .full = true,
     .make = dynamic},
    {.name = "DynamicSlidingWindowLayer",
     .family = "transformers-dynamic",
     .holder = "DynamicCache",
     .library = kVersion,
     .source = "cache_utils.py: DynamicSlidingWindowLayer, and "
               "LinearAttentionAndSlidingWindowAttentionLayer; masking_utils.py",
     .note = "takes tokens back behind its window only after activate_past_recording()",
     .sliding = true,
     .chunked = true,
     .make = dynamic_sliding},
    {.name = "StaticLayer",
     .family = "transformers-static",
     .holder = "StaticCache",
     .library = kVersion,
     .source = "cache_utils.py: StaticLayer, and StaticIndexedLayer and "
               "LinearAttentionAndStaticFullAttentionLayer; masking_utils.py",
     .note = "takes tokens back since 5.24",
     .full = true,
     .make = fixed},
    {.name = "StaticSlidingWindowLayer",
     .family = "transformers-static",
     .holder = "StaticCache",
     .library = kVersion,
     .source = "cache_utils.py: StaticSlidingWindowLayer, its is_croppable, and "
               "LinearAttentionAndStaticSlidingWindowAttentionLayer; masking_utils.py",
     .note = "takes tokens back since 5.24, and only if max_cache_len is no more than the window",
     .sliding = true,
     .chunked = true,
     .make = static_sliding},
    {.name = "QuantizedLayer",
     .family = "transformers-quantised",
     .holder = "QuantizedCache",
     .library = kVersion,
     .source = "cache_utils.py: QuantizedLayer (Quanto, HQQ), Fp8QuantizedLayer, and is_croppable "
               "of BaseQuantizedLayer; masking_utils.py",
     .note = "crop() cuts what is not quantised yet alone, and leaves cumulative_length",
     .full = true,
     .make = quantised},
    {.name = "DynamicLayer-offloaded",
     .family = "",
     .holder = "offloaded",
     .library = kVersion,
     .source = kOffload,
     .note = kSameTokens,
     .full = true,
     .make = dynamic},
    {.name = "DynamicSlidingWindowLayer-offloaded",
     .family = "",
     .holder = "offloaded",
     .library = kVersion,
     .source = kOffload,
     .note = kSameTokens,
     .sliding = true,
     .chunked = true,
     .make = dynamic_sliding},
    {.name = "StaticLayer-offloaded",
     .family = "",
     .holder = "offloaded_static",
     .library = kVersion,
     .source = kOffload,
     .note = kSameTokens,
     .full = true,
     .make = fixed},
    {.name = "StaticSlidingWindowLayer-offloaded",
     .family = "",
     .holder = "offloaded_static",
     .library = kVersion,
     .source = kOffload,
     .note = kSameTokens,
     .sliding = true,
     .chunked = true,
     .make = static_sliding},
    {.name = "EncoderDecoderCache",
     .family = "",
     .library = kVersion,
     .source = "cache_utils.py: EncoderDecoderCache, which asks its self_attention_cache for all "
               "but keys",
     .note = "with a DynamicCache for self attention; keys of the encoder are written once, and "
             "none is dropped",
     .full = true,
     .sliding = true,
     .chunked = true,
     .make = of_dynamic},
    {.name = "MtpCache",
     .family = "",
     .library = kVersion,
     .source = "cache_utils.py: get_query_offset() and get_mask_sizes() of MtpCache",
     .note = "depth k masks queries and keys k + 1 positions later, so that a query sees the keys "
             "that it sees in a DynamicCache",
     .full = true,
     .sliding = true,
     .chunked = true,
     .make = of_dynamic},
    {.name = "DFlashCache",
     .family = "",
     .library = kVersion,
     .source = "cache_utils.py: get_query_offset() and get_mask_sizes() of DFlashCache",
     .note = "the keys of a step are not those of its queries, and where they stand was not read: "
             "its attention layers write both",
     .full = true,
     .sliding = true},
    {.name = "PagedAttentionCache",
     .family = "",
     .library = kVersion,
     .source = "generation/continuous_batching/cache.py",
     .note = "its allocators of pages were not read",
     .full = true,
     .sliding = true},
};

}  // namespace transformers_rows

std::span<const CacheRow> transformers() { return transformers_rows::kRows; }

}  // namespace maskctl::caches
