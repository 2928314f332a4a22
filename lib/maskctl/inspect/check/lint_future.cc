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
              "tokens in which, of three pairs in four, each sees the other; of two tokens behind "
              "others, the first may count",
          .why =
              "those queries see tokens that they should predict; the loss falls too low, and "
              "generation, which has no future, is worse than the loss says",
          .fix =
              "close the cells with the step causal; groups that may see each other, such as "
              "images or a prefix, must be open as a whole",
          .example = "maskctl check gen:causal:n=32 -t open:q=3-5,k=20-22",
          .beside = {LintRule::Beside::kCountsFuture, LintRule::Beside::kTellsReopened},
          .fixed = close_future_cells,
          .unfixed = "which cells of the future belong to a group is not known"};
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

LintRule lint_row(RuleKey<FindingId::kGroupHoles>) {
  return {
      .id = "group-holes",
      .severity = Severity::kWarning,
      .summary = "tokens that see each other do not see a later one of them",
      .claim =
          "that many later keys are closed, whose tokens see the query, in a group of "
          "neighbouring tokens in which, of three pairs in four, each sees the other; the query "
          "sees a later one of these, or both queries beside it see the key",
      .why = "an image or a prefix that lacks a cell, as one written by hand does",
      .fix = "open the group as a whole",
      .example =
          "maskctl check gen:causal:n=32 -t 'open:q=4-8,k=4-8 | open:q=15-20,k=15-20 | "
          "close:q=5,k=7'",
      .unfixed = "which tokens are to be a group is not known"};
}

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
      const bool fill = future.others == future.q.size() * future.k.size();
      where = (fill ? "" : "within ") + range_words(future.q, "query", "queries") + ", " +
              range_words(future.k, "key");
    }
    cells += future.others * use.times;
  }
  void report(FindingId id, std::string_view what, Findings& out) const {
    if (cells == 0) return;
    out.push_back({&lint_rule(id), fmt::format("{} {}: {}", counted(cells, "cell"), what, where),
                   first, cells});
  }
};

/// The open cells of the future that are no exceptions, and what they belong to.
struct OtherFuture {
  Index cells = 0;
  bool groups = false, full_rows = false, global = false, planes = false;

  void add(const Future& future, Index in_opened_rows, bool is_exceptional, Index times) {
    const Index others = future.later + in_opened_rows - (is_exceptional ? future.others : 0);
    cells += others * times;
    if (!is_exceptional) {
      planes = planes || others > 0;
      return;
    }
    groups = groups || future.groups > 0;
    full_rows = full_rows || future.full > 0 || in_opened_rows > 0;
    global = global || future.to_global > 0;
  }

  std::string text() const {
    if (cells == 0) return "in a mask that is causal otherwise";
    std::string list;
    const auto add = [&list](bool is_there, const char* what) {
      if (is_there) list += (list.empty() ? "" : " or ") + std::string(what);
    };
    add(groups, "groups");
    add(full_rows, "rows that see every key");
    add(global, "columns that every query sees");
    add(planes, "other planes");
    return fmt::format("in a mask that is causal but for these and {}{}{}", counted(cells, "cell"),
                       list.empty() ? "" : " in ", list);
  }
};

/// The cells of the future in the rows of padding of a square plane that see every key.
Index future_in(const std::vector<Range>& padding, Index tokens) {
  Index out = 0;
  for (const Range& rows : padding) {
    for (Index q = rows.begin; q < rows.end; ++q) out += tokens - 1 - q;
  }
  return out;
}

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

Findings lint_group_holes(const Mask& mask) {
  Index holes = 0;
  Location first;
  for (const PlaneUse& use : first_uses(mask)) {
    const Future future = future_of(mask.plane(use.batch, use.head));
    if (future.holes == 0) continue;
    if (holes == 0) {
      first = {use.batch, use.head, future.first_hole->query, future.first_hole->key, {}, {}};
    }
    holes += future.holes * use.times;
  }
  if (holes == 0) return {};
  return {{&lint_rule(FindingId::kGroupHoles),
           fmt::format("{} of later tokens closed in a group: {}query {}, key {}",
                       counted(holes, "cell"), holes == 1 ? "" : "the first ", *first.query,
                       *first.key),
           first, holes}};
}

void lint_future(const LintedMask& linted, const std::vector<OpenedRows>& opened, Findings& out) {
  if (!out.empty()) return;  // the mask was already reported as inverted or transposed
  FutureTally leaked, joined;
  OtherFuture others;
  for (std::size_t i = 0; i < linted.uses.size(); ++i) {
    const PlanePtr& plane = linted.mask.distinct()[i];
    const PlaneUse& use = linted.uses[i];
    if (use.times == 0) continue;
    const Future future = future_of(plane);
    const bool few = future.are_exceptions() ||
                     (future.are_exceptions_of_head() && others_are_causal(linted.mask, use));
    const bool is_odd =
        (future.joined || few) && !rows_alike(*plane) && !is_part_of_groups(linted.mask, use);
    others.add(future, future_in(opened[i].padding, plane->keys()), is_odd && !future.joined,
               use.times);
    if (is_odd) (future.joined ? joined : leaked).add(future, use);
  }
  leaked.report(FindingId::kFuturePart, "of the future open, " + others.text(), out);
  joined.report(FindingId::kGroupsJoined, "open to later groups across causal tokens", out);
}

}  // namespace maskctl
