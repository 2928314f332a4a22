// Attention over pages as softmax attention over all slots of the cache, so that the pages that a
// kernel read are solved as a mask.
#pragma once

#include <optional>

#include "maskctl/attention/verify/verify.h"

namespace maskctl::attention {

/// A call over pages, rewritten: query rows [1, rows, Hq, D], and key j is slot j % page_size of
/// page j / page_size.
struct SlotCall {
  VerifyRequest request;  // flash_attention; `declared` are the slots of the block tables
  NamedResults given;     // "out" in the shape of that call
  Index page_size = 1;
};

/// Absent for operations other than page_attention, ragged_page_attention and its version 3, after
/// its update of the cache, and ragged_decode_attention, where the keys of a batch are one page.
/// Throws what the operation throws, and Error(kLimit) for more than 2^28 rows times slots.
std::optional<SlotCall> over_slots(const VerifyRequest& request, const NamedResults& given);

}  // namespace maskctl::attention
