// Findings in masks that a few steps nearly explain.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "maskctl/base/text.h"
#include "maskctl/inspect/check/family.h"
#include "maskctl/inspect/check/fixes.h"
#include "maskctl/inspect/check/lint.h"
#include "maskctl/inspect/check/unexplained.h"
#include "maskctl/inspect/count/row_safety.h"
#include "maskctl/inspect/recognise/cells.h"
#include "maskctl/inspect/recognise/summary.h"
#include "maskctl/mask/steps/rule.h"

namespace maskctl {

LintRule lint_row(RuleKey<FindingId::kNearly>) {
  return {.id = "nearly",
          .severity = Severity::kWarning,
          .summary = "a few steps make the mask except for some cells",
          .claim =
              "the mask differs from the steps named in that many cells, rows of padding that see "
              "every key left out",
          .why =
              "single cells of a regular mask are rarely meant: an index that is off by one, a "
              "cell written by hand, a leak between documents",
          .fix = "recognise prints the steps; compare with diff, or make the mask from the steps",
          .example = "maskctl check gen:causal:n=32 -t close:q=20,k=5",
          .beside = {LintRule::Beside::kTellsReopened},
          .fixed = follow_steps};
}

namespace {

/// In a mask of n cells, at most n / kMost unexplained cells are exceptions; more of them are a
/// pattern of their own. In small masks, kAlways cells may be exceptions, but in tiny masks only
/// n / kMostOfTiny.
constexpr Index kMost = 64, kAlways = 4, kMostOfTiny = 32;

bool is_inverse(const Chain& chain) {
  return !chain.empty() && chain.back().row().meets(chain.back()) == Meets::kFlips;
}

/// Whether queries are tokens among the keys, and in no head do most of them see themselves.
bool hides_selves(const Mask& mask) {
  if (mask.queries() != mask.keys()) return false;
  return std::ranges::all_of(mask.distinct(), [](const PlanePtr& plane) {
    return 2 * count_on_diagonals(plane, 0, 0) < plane->keys();
  });
}

bool is_few(const Pattern& pattern) {
  const Index cells = pattern.mask.cells();
  return exceptions_of(pattern.found) <=
         std::max(std::min(kAlways, cells / kMostOfTiny), cells / kMost);
}

/// " (causal)"; a summary of several batches may have its brackets.
std::string in_brackets(const std::string& text) {
  const bool has = text.starts_with('(') && text.find(')') + 1 == text.size();
  return has ? " " + text : " (" + text + ")";
}

Findings inverse_of(const Recognised& found, const std::string& text, const Pattern& pattern) {
  const Mask& mask = pattern.mask;
  const Mask given = pattern.opened ? zip(Op::kOr, mask, *pattern.opened) : mask;
  if (!is_inverse(found.chain) || tokens_and_regions(found.chain) > 0 || !hides_selves(given))
    return {};
  return {{&lint_rule(FindingId::kPolarity),
           fmt::format("the mask is the inverse of one: {}", text),
           {},
           mask.cells()}};
}

/// Adds the words for each step of the chain, each once; steps inside scopes are included.
void add_words(const Chain& chain, std::vector<std::string>& words) {
  for (const Step& step : chain) {
    if (step.row().scope) {
      add_words(*chain_of(step), words);
      continue;
    }
    const StepInfo& info = info_of(step);
    const std::string word(info.noun.empty() ? info.name : info.noun);
    if (std::ranges::find(words, word) == words.end()) words.push_back(word);
  }
}

/// For example "documents and causal"; "full" for no steps.
std::string chain_words(const Chain& chain) {
  if (chain.empty()) return "full";
  std::vector<std::string> words;
  add_words(chain, words);
  return joined(words, " and ");
}

/// What lint_pattern() reports. With `at_border`, the steps have a border that the cells cross, and
/// rows of which these are the windows.
std::optional<Findings> judged(const Pattern& pattern, bool at_border) {
  const Mask& mask = pattern.mask;
  const Recognised& found = pattern.found;
  const Residue& residue = found.residue;
  if (found.irregular || names_arrays(found.chain)) {
    return pattern.explained ? std::optional(Findings{}) : std::nullopt;
  }
  const std::string words = chain_words(found.chain);
  const std::string text = found.chain.empty() ? words : summary_text(found.chain);
  if (residue.cells == 0) return inverse_of(found, text, pattern);
  const Unexplained cells(pattern);
  const bool off_family = are_off_family(mask, found.chain, residue);
  if (!off_family && !at_border && cells.follow_a_rule()) return std::nullopt;
  if (cells.are_in_full_rows()) return std::nullopt;
  // What leaves more than a fifth of the cells is not nearly the mask.
  if (!off_family && 5 * residue.cells > mask.count()) return std::nullopt;
  if (!off_family && !cells.joins_documents() && !cells.cross_borders() &&
      !(is_few(pattern) && cells.are_strays())) {
    return std::nullopt;
  }
  const Cell& at = residue.first.front();
  const bool is_listed = residue.cells <= static_cast<Index>(kListedCells);
  const auto parts = is_listed ? std::nullopt : cells.rectangles();
  const auto why = off_family_text(mask, found.chain, at);
  return Findings{
      {&lint_rule(FindingId::kNearly),
       fmt::format("{}{} except for {}: {}{}", words, words == text ? "" : in_brackets(text),
                   counted(residue.cells, "cell"), parts ? *parts : residue_text(residue),
                   why ? "; in the first, " + *why : ""),
       {at.batch, at.head, at.query, at.key, {}, {}},
       residue.cells}};
}

}  // namespace

std::optional<Findings> lint_pattern(const Pattern& pattern) {
  if (auto out = judged(pattern, false)) return out;
  const auto split = with_border(pattern);
  return split ? judged(*split, true) : std::nullopt;
}

}  // namespace maskctl
