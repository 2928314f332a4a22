// Defines lint_mask(), which checks the mask alone, and helpers that its parts in other files
// share.
#include <fmt/format.h>

#include <algorithm>

#include "maskctl/inspect/check/lint_parts.h"
#include "maskctl/inspect/count/stats_parts.h"

namespace maskctl {

LintRule lint_row(RuleKey<FindingId::kMaskEmpty>) {
  return {.id = "mask-empty",
          .severity = Severity::kError,
          .summary = "the mask opens nothing",
          .claim = "no cell is open",
          .why = "every row is NaN, 0 or the mean of V, depending on the backend",
          .fix = "look for a step that closes all",
          .example = "maskctl check gen:empty:n=6",
          .remedy = {Remedy::kReadZeroAsOpen},
          .unfixed = "what it should see is not known"};
}

LintRule lint_row(RuleKey<FindingId::kMaskFull>) {
  return {.id = "mask-full",
          .severity = Severity::kNote,
          .summary = "the mask closes nothing",
          .claim = "every cell is open",
          .why = "attention is unmasked; a window or documents that were meant to apply do not",
          .fix = "leave the mask out if that is meant: kernels without one are faster",
          .example = "maskctl check gen:full:n=6"};
}

void report_planes(FindingId id, const LintedMask& linted,
                   const std::function<bool(std::size_t)>& suspect,
                   const std::function<std::string(const std::string&)>& say, Findings& out) {
  Location first;
  Index planes = 0;
  for (std::size_t i = 0; i < linted.uses.size(); ++i) {
    const PlaneUse& use = linted.uses[i];
    if (use.times == 0 || !suspect(i)) continue;
    if (planes == 0) first = {use.batch, use.head, {}, {}, {}, {}};
    planes += use.times;
  }
  if (planes == 0) return;
  const Index all = linted.mask.batch() * linted.mask.heads();
  out.push_back(
      {&lint_rule(id), say(fmt::format("in {} of {} planes", planes, all)), first, planes});
}

void EntryTally::report(FindingId id, Findings& out) const {
  if (count == 0) return;
  const std::string more = count > 1 ? fmt::format("; {} places in all", count) : "";
  out.push_back({&lint_rule(id), text + more, first, count});
}

Findings lint_mask(const Mask& given, const Mask* real_queries, bool gives_nan, bool all_declared) {
  const Mask mask = given.map(readable);
  if (mask.cells() == 0) return {};
  const Index open = mask.count();
  const auto whole = [&mask](FindingId id, std::string_view what) {
    return Findings{
        {&lint_rule(id), fmt::format("{}: {}", shape_text(mask), what), {}, mask.cells()}};
  };
  if (open == 0) return whole(FindingId::kMaskEmpty, "no cell is open");
  if (open == mask.cells()) return whole(FindingId::kMaskFull, "every cell is open");
  const std::vector<PlaneUse> uses = first_uses(mask);
  const Mask* tokens = all_declared ? real_queries : nullptr;
  const std::vector<OpenedRows> opened = opened_rows(mask, tokens);
  const LintedMask closed{without_opened_padding(mask, opened), uses};
  Findings out;
  std::vector<Turned> turned = turned_planes(closed.mask);
  for (std::size_t i = 0; i < turned.size(); ++i) {
    // What is said of rolled planes is of all their rows.
    if (turned[i] == Turned::kMoved && !opened[i].padding.empty()) turned[i] = Turned::kNo;
  }
  lint_polarity(closed, turned, out);
  lint_moved(closed, turned, out);
  lint_future(closed, opened, out);
  lint_alignment(closed, tokens, out);
  lint_ring(mask, out);
  const LintedMask as_given{mask, uses};
  lint_planes(as_given, closed, turned, out);
  lint_rows(as_given, opened, {real_queries, all_declared, gives_nan}, out);
  // A row that came round sees every key; it is told as that.
  if (std::ranges::find(turned, Turned::kMoved) != turned.end()) {
    std::erase_if(out, [](const Finding& f) { return f.rule->key == FindingId::kRowsOpened; });
  }
  return out;
}

}  // namespace maskctl
