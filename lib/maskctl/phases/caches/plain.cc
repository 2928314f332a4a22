// Caches of no library, masked by the declared rule at the positions of tokens.
#include "maskctl/phases/caches/rows.h"

namespace maskctl::caches {
namespace plain_rows {

using Order = Cache::Order;

Cache dynamic(const CacheSizes&) { return all_tokens(kDeclared); }

Cache fixed(const CacheSizes& sizes) {
  Cache out = all_tokens(kDeclared);
  out.slots = sizes.slots;
  return out;
}

Cache sliding(const CacheSizes& sizes) {
  return last_tokens(before(sizes), Order::kTime, kDeclared);
}

Cache rotating(const CacheSizes& sizes) {
  Cache out = last_tokens(before(sizes), Order::kRing, kDeclared);
  out.sinks = sizes.sinks;
  out.rollback = Cache::Rollback::kLoses;
  return out;
}

Cache paged(const CacheSizes& sizes) {
  Cache out = all_tokens(kDeclared);
  if (sizes.window) out.last = before(sizes);
  out.page = sizes.page;
  return out;
}

constexpr CacheRow kRows[] = {
    {.name = "dynamic",
     .family = "",
     .library = "",
     .source = "",
     .note = "grows by a slot with each token",
     .full = true,
     .sliding = true,
     .chunked = true,
     .make = dynamic},
    {.name = "static",
     .family = "",
     .library = "",
     .source = "",
     .note = "all its slots exist from the start",
     .full = true,
     .sliding = true,
     .chunked = true,
     .make = fixed},
    {.name = "sliding",
     .family = "",
     .library = "",
     .source = "",
     .note = "keeps as many tokens as a step of one token reads beside it, in their order",
     .sliding = true,
     .chunked = true,
     .make = sliding},
    {.name = "rotating",
     .family = "",
     .library = "",
     .source = "",
     .note = "the same in a ring, beside sinks; drafts overwrite what they take the slots of",
     .sliding = true,
     .chunked = true,
     .make = rotating},
    {.name = "paged",
     .family = "",
     .library = "",
     .source = "",
     .note = "drops whole pages behind a window, if there is one",
     .full = true,
     .sliding = true,
     .make = paged},
    {.name = "quantised",
     .family = "",
     .library = "",
     .source = "",
     .note = "old tokens are quantised, and kept",
     .full = true,
     .make = dynamic},
};

}  // namespace plain_rows

std::span<const CacheRow> plain() { return plain_rows::kRows; }

}  // namespace maskctl::caches
