#include "maskctl/inspect/diff/step_changes.h"

#include <algorithm>

#include "maskctl/inspect/diff/change.h"
#include "maskctl/mask/steps/region.h"
#include "maskctl/mask/steps/rule.h"

namespace maskctl {

std::vector<StepChange> changes_between(const Chain& a, const recognition::Fitted& b) {
  std::vector<StepChange> out;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto at = std::ranges::find(b.from, static_cast<Index>(i));
    const Step* now =
        at == b.from.end() ? nullptr : &b.chain[static_cast<std::size_t>(at - b.from.begin())];
    if (!now || !(*now == a[i])) out.push_back({&a[i], now});
  }
  for (std::size_t j = 0; j < b.chain.size(); ++j) {
    if (b.from[j] < 0) out.push_back({nullptr, &b.chain[j]});
  }
  return out;
}

std::vector<Index> matched(const Chain& a, const Chain& b) {
  std::vector<Index> from(b.size(), -1);
  std::vector<bool> used(a.size());
  const auto match = [&](bool equal) {
    for (std::size_t j = 0; j < b.size(); ++j) {
      for (std::size_t i = 0; i < a.size() && from[j] < 0; ++i) {
        if (used[i] || !(equal ? a[i] == b[j] : are_comparable(a[i], b[j]))) continue;
        from[j] = static_cast<Index>(i);
        used[i] = true;
      }
    }
  };
  match(true);
  match(false);
  return from;
}

std::vector<StepChange> with_replaced(std::vector<StepChange> changes, const Chain& a,
                                      const Chain& b) {
  if (changes.size() != 2 || a.size() != b.size()) return changes;
  const auto [in_a, in_b] = std::ranges::mismatch(a, b);
  if (in_a == a.end()) return changes;
  const bool one = std::equal(in_a + 1, a.end(), in_b + 1, b.end());
  const bool lone = (changes[0].a == nullptr) != (changes[0].b == nullptr) &&
                    (changes[1].a == nullptr) != (changes[1].b == nullptr);
  const auto closes = [](const Step& step) {
    const bool keeps = info_of(step).kind == StepKind::kAnd && !step.is<step::Region>();
    return keeps || chain_of(step) != nullptr;
  };
  const bool close = closes(*in_a) && closes(*in_b);
  if (!one || !lone || !close || step_words(*in_a, 0) == step_words(*in_b, 0)) return changes;
  return {{&*in_a, &*in_b}};
}

}  // namespace maskctl
