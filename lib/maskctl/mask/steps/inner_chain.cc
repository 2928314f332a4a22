#include "maskctl/mask/steps/inner_chain.h"

#include <fmt/format.h>

#include "maskctl/mask/steps/rule.h"

namespace maskctl::step {

Mask apply_inner(const Chain& chain, const Mask& mask, std::string_view step) {
  Mask changed = maskctl::apply(mask, std::span<const Step>(chain));
  if (!same_shape(changed, mask)) {
    refuse(step, fmt::format("the chain turns {} into {}: expected one that keeps the shape",
                             shape_text(mask), shape_text(changed)));
  }
  return changed;
}

Mask apply_to_tokens(const Chain& chain, const Mask& mask, Index n, std::string_view step,
                     const std::function<Mask(const Mask&)>& placed) {
  const auto made = [&](const Mask& before) { return placed(apply_inner(chain, before, step)); };
  // What the chain makes of open cells, and of closed ones.
  const Mask open = full_mask(mask.batch(), mask.heads(), n, n);
  const Mask kept = zip(Op::kAnd, mask, made(open));
  if (mask.count() == mask.cells()) return kept;
  return zip(Op::kOr, kept, zip(Op::kSub, made(complement(open)), mask));
}

}  // namespace maskctl::step
