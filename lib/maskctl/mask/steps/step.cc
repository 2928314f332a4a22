#include "maskctl/mask/steps/step.h"

#include <algorithm>

#include "maskctl/mask/steps/rule.h"

namespace maskctl {

bool operator==(const NamedArray& a, const NamedArray& b) {
  return a.text == b.text && same_elements(a.array, b.array);
}

bool operator==(const Step& a, const Step& b) {
  return &a.row() == &b.row() && a.row().equal(a, b);
}

Mask apply(const Mask& mask, const Step& step) {
  const RuleInfo& rule = step.row();
  if (rule.apply) return rule.apply(step, mask);
  const Mask cells = rule.cells(step, shape_of(mask));
  switch (rule.meets(step)) {
    case Meets::kKeeps:
      return zip(Op::kAnd, mask, cells);
    case Meets::kOpens:
      return zip(Op::kOr, mask, cells);
    case Meets::kCloses:
      return zip(Op::kSub, mask, cells);
    case Meets::kFlips:
      return zip(Op::kXor, mask, cells);
    case Meets::kReplaces:
    case Meets::kOwn:
      break;
  }
  return Mask::make(mask.batch(), mask.heads(), mask.queries(), mask.keys(),
                    [&](Index b, Index h) { return cells.plane(b, h); });
}

Mask apply(Mask mask, std::span<const Step> chain) {
  for (const Step& step : chain) mask = apply(mask, step);
  return mask;
}

}  // namespace maskctl
