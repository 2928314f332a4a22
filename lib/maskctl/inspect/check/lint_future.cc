// Finds open cells of the future, in masks that are causal otherwise.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>

#include "maskctl/base/ranges.h"
#include "maskctl/base/text.h"
#include "maskctl/inspect/check/fixes.h"
#include "maskctl/inspect/check/future.h"
#include "maskctl/inspect/check/lint_parts.h"
#include "maskctl/mask/planes/bands.h"

namespace maskctl {

LintRule lint_row(RuleKey<FindingId::kFuturePart>) {
  return {.id = "future-part",
          .severity = Severity::kWarning,
          .summary = "a part of the future is open in a mask that is causal otherwise",
          .claim =
              "that many open cells are after their query's own key, in no group of neighbouring "
              "tokens of which seven in eight see all of it",
          .why =
              "those queries see tokens that they should predict; the loss falls too low, and "
              "generation, which has no future, is worse than the loss says",
          .fix =
              "close the cells with the step causal; groups that may see each other, such as "
              "images or a prefix, must be open as a whole",
          .example = "maskctl check gen:causal:n=32 -t open:q=3-5,k=20-22",
          .beside = {LintRule::Beside::kCountsFuture, LintRule::Beside::kTellsReopened},
          .fixed = close_future_cells,
          .unfixed = "groups lie among the cells; which cells are theirs is not known"};
}

LintRule lint_row(RuleKey<FindingId::kGroupsJoined>) {
  return {.id = "groups-joined",
          .severity = Severity::kWarning,
          .summary = "tokens see a later group across causal tokens",
          .claim =
              "that many open cells are after their query's own key, in a later group of tokens "
              "that all see each other",
          .why =
              "one id for all images, as in token types of 0 and 1, lets an image see the images "
              "after it, and the text in front of those leaks through them",
          .fix = "number the groups, so that each has an id of its own",
          .example =
              "maskctl check gen:causal:n=32 -t 'open:q=4-7,k=4-7 | open:q=20-22,k=20-22 | "
              "open:q=4-7,k=20-22'",
          .beside = {LintRule::Beside::kSaysPattern, LintRule::Beside::kTellsReopened},
          .fixed = close_later_groups,
          .unfixed = "other cells of the future lie among these"};
}

namespace {

/// The cells that one rule finds, over all planes, and where the first of them are.
struct FutureTally {
  Index cells = 0, later = 0;  // and all cells of the future in these planes
  Location first;
  std::string where;

  void add(const Future& future, const PlaneUse& use) {
    if (cells == 0) {
      const Cell& at = *future.first;
      first = {use.batch, use.head, at.query, at.key, {}, {}};
      const bool fill = future.others == future.q.size() * future.k.size();
      where = (fill ? "" : "within ") + range_words(future.q, "query", "queries") + ", " +
              range_words(future.k, "key");
    }
    cells += future.others * use.times;
    later += future.later * use.times;
  }
  void report(FindingId id, std::string_view what, Findings& out) const {
    if (cells == 0) return;
    out.push_back({&lint_rule(id), fmt::format("{} {}: {}", counted(cells, "cell"), what, where),
                   first, cells});
  }
};

/// Whether another head of the batch entry sees all of the future that a plane sees, in groups of
/// tokens that see each other: the plane may then be such groups cut by a window.
bool is_part_of_groups(const Mask& mask, const PlaneUse& use) {
  const PlanePtr& plane = mask.plane(use.batch, use.head);
  const Index shift = mask.keys() - mask.queries();
  const PlanePtr later =
      combine(Op::kAnd, plane, diagonal_band(mask.queries(), mask.keys(), shift + 1, kUnbounded));
  for (Index h = 0; h < mask.heads(); ++h) {
    const PlanePtr& other = mask.plane(use.batch, h);
    if (combine(Op::kSub, later, other)->count() > 0) continue;
    const Future future = future_of(other);
    if (!future.irregular && future.others == 0) return true;
  }
  return false;
}

/// Whether there are other heads in the batch entry, and none of them sees a key after a query.
/// False if they are several and equal: a plane that differs from these is told as that.
bool others_are_causal(const Mask& mask, const PlaneUse& use) {
  std::set<std::uint32_t> others;
  for (Index h = 0; h < mask.heads(); ++h) {
    if (h == use.head) continue;
    if (!future_of(mask.plane(use.batch, h)).is_causal()) return false;
    others.insert(mask.index_of(use.batch, h));
  }
  return mask.heads() == 2 || others.size() > 1;
}

}  // namespace

void lint_future(const LintedMask& linted, const std::vector<OpenedRows>& opened, Findings& out) {
  if (!out.empty()) return;  // the mask was already reported as inverted or transposed
  FutureTally leaked, joined;
  for (std::size_t i = 0; i < linted.uses.size(); ++i) {
    const PlanePtr& plane = linted.mask.distinct()[i];
    if (linted.uses[i].times == 0 || rows_alike(*plane)) continue;
    const Future future = future_of(plane);
    const bool few = future.are_exceptions() || (future.are_exceptions_of_head() &&
                                                 others_are_causal(linted.mask, linted.uses[i]));
    const bool is_odd = future.joined || few;
    if (is_odd && is_part_of_groups(linted.mask, linted.uses[i])) continue;
    if (future.joined) {
      joined.add(future, linted.uses[i]);
    } else if (few) {
      leaked.add(future, linted.uses[i]);
    }
  }
  const bool padding =
      std::ranges::any_of(opened, [](const OpenedRows& rows) { return !rows.padding.empty(); });
  leaked.report(FindingId::kFuturePart,
                leaked.cells == leaked.later && !padding
                    ? "of the future open, in a mask that is causal otherwise"
                    : "of the future open, in a mask that is causal but for these, groups and "
                      "rows of padding",
                out);
  joined.report(FindingId::kGroupsJoined, "open to later groups across causal tokens", out);
}

}  // namespace maskctl
