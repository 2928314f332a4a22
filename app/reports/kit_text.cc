// The results of the command kit as one page of text.
#include <fmt/format.h>

#include <algorithm>

#include "app/reports/kit_report.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/text.h"

namespace maskctl::app {
namespace {

using kit::Outcome;

constexpr std::size_t kMostText = 240;  // of a verdict

std::string counts_text(const std::vector<JudgedCase>& cases, const kit::Rule& rule) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < kit::kOutcomes; ++i) {
    const auto n = std::ranges::count_if(cases, [&](const JudgedCase& one) {
      return one.rule == &rule && one.verdict.outcome == Outcome(i);
    });
    if (n > 0) parts.push_back(fmt::format("{} {}", n, name(Outcome(i))));
  }
  return joined(parts, ", ");
}

/// The case that does not obey and has the fewest pairs; null if all obey.
const JudgedCase* smallest_of(const std::vector<JudgedCase>& cases, const kit::Rule& rule) {
  const JudgedCase* found = nullptr;
  const auto pairs = [](const JudgedCase& one) {
    return one.source->call.queries * one.source->call.keys;
  };
  for (const JudgedCase& one : cases) {
    const bool failed = one.rule == &rule && one.verdict.outcome != Outcome::kObeys;
    if (failed && (!found || pairs(one) < pairs(*found))) found = &one;
  }
  return found;
}

/// A line for the cases that obey in a lower precision than that of their arrays.
std::string notes_text(const KitReport& report) {
  const JudgedCase* first = nullptr;
  Index n = 0;
  for (const JudgedCase& one : report.cases) {
    if (one.verdict.note.empty()) continue;
    first = first ? first : &one;
    ++n;
  }
  if (!first) return "";
  return fmt::format("note      {} in a lower precision, first {}: {}\n", counted(n, "case"),
                     first->id, first->verdict.note);
}

/// What has changed since the baseline: a line with counts, and one for each case.
std::string changes_text(const KitReport& report) {
  if (!report.baseline) return "";
  const Index worse = report.count(kit::Change::kWorse),
              better = report.count(kit::Change::kBetter);
  std::string out = fmt::format("baseline  {}: {} worse, {} better\n",
                                printable(report.baseline->file), worse, better);
  for (const std::string& note : report.baseline->notes) {
    out += fmt::format("  note    {}\n", printable(note, kMostText));
  }
  for (const JudgedCase& one : report.cases) {
    const kit::Change change = report.change(one);
    if (change == kit::Change::kAsBefore) continue;
    const auto before = report.before(one);
    const kit::CaseVerdict& now = one.verdict;
    const std::string text = printable(now.text.empty() ? now.note : now.text, kMostText);
    out += fmt::format("  {:<6}  {}: {}, now {}{}{}\n", name(change), one.id,
                       before ? name(before->outcome) : "not in the baseline", name(now.outcome),
                       text.empty() ? "" : ": ", text);
  }
  return out;
}

}  // namespace

std::string kit_text(const KitReport& report) {
  std::string out =
      fmt::format("library   {}, {}\n", printable(report.library), name(report.dtype));
  std::string others;
  for (std::size_t i = 1; i < kit::kOutcomes; ++i) {
    const Index n = report.count(Outcome(i));
    if (n > 0) others += fmt::format("{}{} {}", others.empty() ? "; " : ", ", n, name(Outcome(i)));
  }
  out += fmt::format("obeys     {} of {}{}\n", report.count(Outcome::kObeys),
                     counted(static_cast<Index>(report.cases.size()), "case"), others);
  out += notes_text(report) + changes_text(report);
  for (const kit::Rule* const rule : kit::all_rules()) {
    const JudgedCase* const worst = smallest_of(report.cases, *rule);
    if (!worst) continue;
    out += fmt::format("\n{}: {}\n", rule->id, counts_text(report.cases, *rule));
    out += fmt::format("  {}\n", rule->says);
    out += fmt::format("  {}: {}: {}\n", worst->id, name(worst->verdict.outcome),
                       printable(worst->verdict.text, kMostText));
  }
  return out;
}

std::string kit_rules_text(std::span<const KitChoice> cases) {
  std::string out;
  for (const kit::Rule* const rule : kit::all_rules()) {
    const auto n = std::ranges::count(cases, rule, &KitChoice::rule);
    if (n > 0) out += fmt::format("{:<22}{:>3}  {}\n", rule->id, n, rule->says);
  }
  return out;
}

}  // namespace maskctl::app
