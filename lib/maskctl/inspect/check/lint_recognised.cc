// Findings in what the recognised steps themselves say: a diagonal that lies in the future, and
// heads that cut the same tokens into different documents.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "maskctl/base/ranges.h"
#include "maskctl/base/text.h"
#include "maskctl/inspect/check/lint.h"
#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/document.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/mask/steps/scoped.h"

namespace maskctl {
namespace {

/// The planes that a step is applied to: all, but for those outside of a scope.
struct Scope {
  std::optional<std::vector<Range>> batches, heads;

  Location first() const {
    return {batches ? batches->front().begin : 0, heads ? heads->front().begin : 0, {}, {}, {}, {}};
  }
};

/// Calls f(step, scope) for all steps outside and inside scopes.
template <typename F>
void each_step(const Chain& chain, const Scope& scope, const F& f) {
  for (const Step& step : chain) {
    const auto* scoped = step.get_if<step::Scoped>();
    if (!scoped) {
      f(step, scope);
    } else if (!scoped->members.empty()) {
      Scope inner = scope;
      const bool of_heads = scoped->axis == step::Scoped::Axis::kHeads;
      (of_heads ? inner.heads : inner.batches) = scoped->members;
      each_step(scoped->chain, inner, f);
    }
  }
}

/// Queries and keys are the same tokens, and a causal step shows each query later ones.
void lint_diagonal(const Pattern& pattern, Findings& out) {
  const Mask& mask = pattern.mask;
  if (mask.queries() != mask.keys()) return;
  std::optional<Finding> first;
  each_step(pattern.found.chain, {}, [&](const Step& step, const Scope& scope) {
    const auto* causal = step.get_if<step::Causal>();
    if (!causal) return;
    const Index entries = std::max<Index>(causal->offsets.array.elements(), 1);
    for (Index entry = 0; entry < entries && !first; ++entry) {
      const Index later = of_batch(causal->offsets, entry);
      if (later <= 0 || later >= mask.keys() - 1) continue;
      Location at = scope.first();
      if (entries > 1) at.batch = entry;
      at.query = 0;
      at.key = later;
      first = {&lint_rule("future-diagonal"),
               fmt::format("queries see {} after their own: the causal diagonal is moved by {}",
                           counted(later, "key"), later),
               at, later};
    }
  });
  if (first) out.push_back(std::move(*first));
}

/// Several documents, and not so short that they stand for single cells.
bool are_of_text(const std::vector<Index>& lengths) {
  constexpr Index kLeastTokens = 4;  // on average
  const Index tokens = std::accumulate(lengths.begin(), lengths.end(), Index{0});
  return lengths.size() > 1 && tokens >= kLeastTokens * std::ssize(lengths);
}

/// Documents are of the tokens, which all heads share.
void lint_documents_of_heads(const Pattern& pattern, Findings& out) {
  std::optional<Finding> first;
  each_step(pattern.found.chain, {}, [&](const Step& step, const Scope& scope) {
    const auto* documents = step.get_if<step::DocumentLengths>();
    if (first || !documents || !scope.heads || !are_of_text(documents->lengths)) return;
    Index heads = 0;
    for (const Range& range : *scope.heads) heads += range.size();
    if (heads == pattern.mask.heads()) return;
    first = {
        &lint_rule("heads-documents"),
        fmt::format("the documents of {} are {} tokens long, those of other heads are not",
                    range_words(scope.heads->front(), "head"), fmt::join(documents->lengths, "+")),
        scope.first(), 1};
  });
  if (first) out.push_back(std::move(*first));
}

}  // namespace

Findings lint_recognised(const Pattern& pattern) {
  Findings out;
  if (!pattern.explained) return out;
  lint_diagonal(pattern, out);
  lint_documents_of_heads(pattern, out);
  return out;
}

}  // namespace maskctl
