// The operations without a mask, in the order of listings.
#include "maskctl/kernels/all.h"

namespace maskctl::attention {

std::span<const Operation* const> maskless_operations() {
  static constexpr const Operation* kOperations[] = {
      &kOperation<GLAttentionOp>,        &kOperation<LightningAttentionOp>,
      &kOperation<RecurrentAttentionOp>, &kOperation<GatedDeltaRuleOp>,
      &kOperation<ShortConvolutionOp>,   &kOperation<GroupedMatmulOp>,
      &kOperation<MeanPoolingOp>,
  };
  return kOperations;
}

std::string left_out(std::string_view) { return ""; }

}  // namespace maskctl::attention
