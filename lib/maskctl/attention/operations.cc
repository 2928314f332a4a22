// The table of all operations.
#include "maskctl/attention/operations.h"

#include <algorithm>

namespace maskctl::attention {

std::span<const Operation* const> operations() {
  static constexpr const Operation* kOperations[] = {
      &kFlashAttention,
      &kRingAttention,
      &kScaledDotProductAttention,
      &kAttention,
      &kBlocksparseAttention,
      &kMlaAttention,
      &kNativeSparseAttention,
      &kApplyNativeSparseAttention,
      &kPageAttention,
      &kRaggedPageAttention,
      &kRaggedPageAttentionV3,
      &kRaggedDecodeAttention,
      &kGlaAttention,
      &kLightningAttention,
      &kRecurrentAttention,
      &kGroupedMatmul,
      &kMeanPooling,
  };
  return kOperations;
}

const Operation* find_operation(std::string_view name) {
  const auto found = std::ranges::find_if(
      operations(), [name](const Operation* row) { return row->name == name || row->id == name; });
  return found == operations().end() ? nullptr : *found;
}

}  // namespace maskctl::attention
