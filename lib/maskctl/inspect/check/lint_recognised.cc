// Findings in what the recognised steps themselves say: a diagonal that lies in the future, and
// heads that cut the same tokens into different documents.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "maskctl/base/ranges.h"
#include "maskctl/base/text.h"
#include "maskctl/inspect/check/lint.h"
#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/rule.h"

namespace maskctl {
namespace {

/// The batch entries and heads that a step is applied to; absent: all of them.
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
    const auto find_scope = step.row().scope;
    if (!find_scope) {
      f(step, scope);
      continue;
    }
    const auto [of_heads, members] = find_scope(step);
    if (members.empty()) continue;
    Scope inner = scope;
    (of_heads ? inner.heads : inner.batches).emplace(members.begin(), members.end());
    each_step(*chain_of(step), inner, f);
  }
}

/// Finds causal steps with an offset that lets queries see later tokens. Only for masks in which
/// queries and keys are the same tokens.
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
      first = {&lint_rule(FindingId::kFutureDiagonal),
               fmt::format("queries see {} after their own: the causal diagonal is moved by {}",
                           counted(later, "key"), later),
               at, later};
    }
  });
  if (first) out.push_back(std::move(*first));
}

/// Whether there are several documents, with at least 4 tokens on average: shorter ones may only
/// stand for single cells.
bool are_of_text(std::span<const Index> lengths) {
  constexpr Index kLeastTokens = 4;  // on average
  const Index tokens = std::accumulate(lengths.begin(), lengths.end(), Index{0});
  return lengths.size() > 1 && tokens >= kLeastTokens * std::ssize(lengths);
}

/// Finds heads with document lengths of their own. All heads have the same tokens, and thus should
/// have the same documents.
void lint_documents_of_heads(const Pattern& pattern, Findings& out) {
  std::optional<Finding> first;
  each_step(pattern.found.chain, {}, [&](const Step& step, const Scope& scope) {
    const auto documents = documents_in(step);
    if (first || !documents || chain_of(step) || !scope.heads) return;
    const std::span<const Index> lengths = documents->q_lengths;
    if (!are_of_text(lengths)) return;
    Index heads = 0;
    for (const Range& range : *scope.heads) heads += range.size();
    if (heads == pattern.mask.heads()) return;
    first = {&lint_rule(FindingId::kHeadsDocuments),
             fmt::format("the documents of {} are {} tokens long, those of other heads are not",
                         range_words(scope.heads->front(), "head"), joined(lengths, "+")),
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
