// The cache classes of transformers.
#include "maskctl/phases/caches/rows.h"

namespace maskctl::caches {
namespace transformers_rows {

using Order = Cache::Order;
using Rollback = Cache::Rollback;

constexpr std::string_view kVersion = "transformers 5.23.0";

Cache dynamic(const CacheSizes&) { return all_tokens(kCausal); }

Cache dynamic_sliding(const CacheSizes& sizes) {
  Cache out = last_tokens(before(sizes), Order::kTime, local_mask(sizes));
  out.rollback = Rollback::kRefuses;
  return out;
}

Cache fixed(const CacheSizes& sizes) {
  Cache out = all_tokens(kCausal);
  out.slots = sizes.slots;
  out.rollback = Rollback::kNever;
  return out;
}

Cache static_sliding(const CacheSizes& sizes) {
  Cache out = last_tokens(before(sizes), Order::kTime, local_mask(sizes));
  out.slots = before(sizes) + 1;
  out.rollback = Rollback::kNever;
  return out;
}

Cache quantised(const CacheSizes&) {
  Cache out = all_tokens(kCausal);
  out.rollback = Rollback::kNever;
  return out;
}

constexpr CacheRow kRows[] = {
    {.name = "DynamicLayer",
     .family = "transformers-dynamic",
     .library = kVersion,
     .source = "cache_utils.py: DynamicLayer, and DynamicIndexedLayer and "
               "LinearAttentionAndFullAttentionLayer, which keep the same keys; masking_utils.py",
     .full = true,
     .make = dynamic},
    {.name = "DynamicSlidingWindowLayer",
     .family = "transformers-dynamic",
     .library = kVersion,
     .source = "cache_utils.py: DynamicSlidingWindowLayer, and "
               "LinearAttentionAndSlidingWindowAttentionLayer; masking_utils.py",
     .note = "takes tokens back behind its window only after activate_past_recording()",
     .sliding = true,
     .chunked = true,
     .make = dynamic_sliding},
    {.name = "StaticLayer",
     .family = "transformers-static",
     .library = kVersion,
     .source = "cache_utils.py: StaticLayer, and StaticIndexedLayer and "
               "LinearAttentionAndStaticFullAttentionLayer; masking_utils.py",
     .full = true,
     .make = fixed},
    {.name = "StaticSlidingWindowLayer",
     .family = "transformers-static",
     .library = kVersion,
     .source = "cache_utils.py: StaticSlidingWindowLayer, and "
               "LinearAttentionAndStaticSlidingWindowAttentionLayer; masking_utils.py",
     .sliding = true,
     .chunked = true,
     .make = static_sliding},
    {.name = "QuantizedLayer",
     .family = "transformers-quantised",
     .library = kVersion,
     .source = "cache_utils.py: QuantizedLayer (Quanto, HQQ) and Fp8QuantizedLayer; "
               "masking_utils.py",
     .note = "crop() cuts what is not quantised yet alone, and leaves cumulative_length",
     .full = true,
     .make = quantised},
};

}  // namespace transformers_rows

std::span<const CacheRow> transformers() { return transformers_rows::kRows; }

}  // namespace maskctl::caches
