// The table of all operations, in the order of listings.
#include "maskctl/attention/operations/all.h"

#include <algorithm>
#include <vector>

namespace maskctl::attention {

namespace {

constexpr const Operation* kMasked[] = {
    &kOperation<FlashAttentionOp>,
    &kOperation<RingAttentionOp>,
    &kOperation<ScaledDotProductAttentionOp>,
    &kOperation<AttentionOp>,
    &kOperation<BlockSparseAttentionOp>,
    &kOperation<FlashMLAOp>,
    &kOperation<NativeSparseAttentionOp>,
    &kOperation<ApplyNativeSparseAttentionOp>,
    &kOperation<PageAttentionOp>,
    &kOperation<RaggedPageAttentionOp>,
    &kOperation<RaggedPageAttentionv3Op>,
    &kOperation<RaggedDecodeAttentionOp>,
};

}  // namespace

std::span<const Operation* const> operations() {
  static const std::vector<const Operation*> kAll = [] {
    std::vector<const Operation*> all(std::begin(kMasked), std::end(kMasked));
    const auto others = maskless_operations();
    all.insert(all.end(), others.begin(), others.end());
    return all;
  }();
  return kAll;
}

const Operation* find_operation(std::string_view name) {
  const auto found = std::ranges::find_if(operations(), [name](const Operation* row) {
    return row->name == name || row->alias == name;
  });
  return found == operations().end() ? nullptr : *found;
}

std::string unavailable(const Operation& operation, Backend backend) {
  if (backend == Backend::kCuda && !operation.on_gpu) return "it has no such kernel";
  return unavailable(backend);
}

}  // namespace maskctl::attention
