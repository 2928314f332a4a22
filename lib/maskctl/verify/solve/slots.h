// Rewrites attention over pages as softmax attention over all slots of the cache, so that the pages
// that a kernel read can be solved as a mask.
#pragma once

#include <optional>

#include "maskctl/verify/verify.h"

namespace maskctl::attention {

/// A rewritten call over pages. Its queries are [1, rows, Hq, D]; its key j is slot j % page_size
/// of page j / page_size.
struct SlotCall {
  VerifyRequest request;  // flash_attention; `declared` opens the slots of the block tables
  NamedResults given;     // "out" in the shape of the rewritten call
  Index page_size = 1;
};

/// Rewrites a call of page_attention, ragged_page_attention, its version 3 (after its update of the
/// cache), or ragged_decode_attention (where the keys of a batch entry are one page); absent for
/// other operations. Throws what the operation throws, and Error(kLimit) if rows times slots exceed
/// 2^28.
std::optional<SlotCall> over_slots(const VerifyRequest& request, const NamedResults& given);

}  // namespace maskctl::attention
