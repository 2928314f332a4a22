// The steps of a recognised chain, where they apply, and their documents; private to inspect.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "maskctl/base/ranges.h"
#include "maskctl/mask/mask.h"
#include "maskctl/mask/steps/rule.h"

namespace maskctl {

/// The batch entries and heads that a step is applied to; absent: all of them.
struct StepPlaces {
  std::optional<std::vector<Range>> batches, heads;

  /// The first batch entry and head of a mask for which `holds`.
  template <typename Holds>
  std::optional<std::pair<Index, Index>> first(const Mask& mask, const Holds& holds) const {
    const std::vector<Range> all_batches{{0, mask.batch()}}, all_heads{{0, mask.heads()}};
    for (const Range& entries : batches ? *batches : all_batches) {
      for (Index b = entries.begin; b < entries.end; ++b) {
        for (const Range& members : heads ? *heads : all_heads) {
          for (Index h = members.begin; h < members.end; ++h) {
            if (holds(b, h)) return std::pair(b, h);
          }
        }
      }
    }
    return std::nullopt;
  }
};

/// Calls f(step, scope) for all steps outside and inside scopes.
template <typename F>
void each_step(const Chain& chain, const StepPlaces& scope, const F& f) {
  for (const Step& step : chain) {
    const auto find_scope = step.row().scope;
    if (!find_scope) {
      f(step, scope);
      continue;
    }
    const auto [of_heads, members] = find_scope(step);
    if (members.empty()) continue;
    StepPlaces inner = scope;
    (of_heads ? inner.heads : inner.batches).emplace(members.begin(), members.end());
    each_step(*chain_of(step), inner, f);
  }
}

/// The lengths of the documents of a step, which have at least 3 tokens on average: shorter ones
/// may only stand for single cells. Two chunks may be two documents. Empty for other steps.
std::vector<Index> document_lengths_of(const Step& step, Index keys);

}  // namespace maskctl
