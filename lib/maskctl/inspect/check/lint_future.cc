// Finds open cells of the future, in masks that are causal otherwise.
#include <fmt/format.h>

#include "maskctl/base/ranges.h"
#include "maskctl/base/text.h"
#include "maskctl/inspect/check/future.h"
#include "maskctl/inspect/check/lint_parts.h"

namespace maskctl {
namespace {

/// The cells that one rule finds, over all planes, and where the first of them are.
struct FutureTally {
  Index cells = 0;
  Location first;
  std::string where;

  void add(const Future& future, const PlaneUse& use) {
    if (cells == 0) {
      const Cell& at = *future.first;
      first = {use.batch, use.head, at.query, at.key, {}, {}};
      where = range_words(future.q, "query", "queries") + ", " + range_words(future.k, "key");
    }
    cells += future.others * use.times;
  }
  void report(FindingId id, std::string_view what, Findings& out) const {
    if (cells == 0) return;
    out.push_back({&lint_rule(id), fmt::format("{} {}: {}", counted(cells, "cell"), what, where),
                   first, cells});
  }
};

}  // namespace

void lint_future(const LintedMask& linted, Findings& out) {
  if (!out.empty()) return;  // the mask was already reported as inverted or transposed
  FutureTally leaked, joined;
  for (std::size_t i = 0; i < linted.uses.size(); ++i) {
    const PlanePtr& plane = linted.mask.distinct()[i];
    if (linted.uses[i].times == 0 || rows_alike(*plane)) continue;
    const Future future = future_of(plane);
    if (future.joined) {
      joined.add(future, linted.uses[i]);
    } else if (future.are_exceptions()) {
      leaked.add(future, linted.uses[i]);
    }
  }
  leaked.report(FindingId::kFuturePart, "of the future open, in a mask that is causal otherwise",
                out);
  joined.report(FindingId::kGroupsJoined, "open to later groups across causal tokens", out);
}

}  // namespace maskctl
