#include "maskctl/attention/softmax/idle.h"

#include <algorithm>

namespace maskctl::attention {
namespace {

constexpr Index kTime = 1;  // axis of time in queries and keys

}  // namespace

std::string_view why_idle_alignment(const MaskArguments& mask, const Tensor* query,
                                    const Tensor* key) {
  if (mask.align != Align::kBottomRight) return "";
  if (mask.cum_seqlens_q && mask.cum_seqlens_k) {
    return same_elements(*mask.cum_seqlens_q, *mask.cum_seqlens_k)
               ? "sequences have as many queries as keys"
               : "cumulative lengths are aligned bottom-right unless told otherwise";
  }
  const bool known = query && key && query->rank() > kTime && key->rank() > kTime;
  return known && query->extent(kTime) == key->extent(kTime) ? "there are as many queries as keys"
                                                             : "";
}

std::string_view why_idle_block_causal(const MaskArguments& mask) {
  // causal_block_size = 1 does have an effect: then a query does not even see its own key.
  return mask.chunk_size && mask.causal_block_size > 1 ? "chunk_size is causal between tokens" : "";
}

}  // namespace maskctl::attention
