// The results of the command kit as one page of text.
#include <fmt/format.h>

#include <algorithm>

#include "app/reports/kit_report.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/text.h"

namespace maskctl::app {
namespace {

using kit::Outcome;

constexpr std::size_t kOutcomes = 6;
constexpr std::size_t kMostText = 240;  // of a verdict

std::string counts_text(const std::vector<JudgedCase>& cases, const kit::Rule& rule) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < kOutcomes; ++i) {
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

}  // namespace

Index KitReport::count(Outcome outcome) const {
  return std::ranges::count(cases, outcome,
                            [](const JudgedCase& one) { return one.verdict.outcome; });
}

int KitReport::status() const {
  const Index all = static_cast<Index>(cases.size());
  const Index obeys = count(Outcome::kObeys);
  if (obeys == all) return 0;
  return obeys + count(Outcome::kUndecided) == all ? 2 : 1;
}

std::string kit_text(const KitReport& report) {
  std::string out =
      fmt::format("library   {}, {}\n", printable(report.library), name(report.dtype));
  std::string others;
  for (std::size_t i = 1; i < kOutcomes; ++i) {
    const Index n = report.count(Outcome(i));
    if (n > 0) others += fmt::format("{}{} {}", others.empty() ? "; " : ", ", n, name(Outcome(i)));
  }
  out += fmt::format("obeys     {} of {}{}\n", report.count(Outcome::kObeys),
                     counted(static_cast<Index>(report.cases.size()), "case"), others);
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

std::string kit_rules_text(std::span<const kit::Rule* const> rules) {
  std::string out;
  for (const kit::Rule* const rule : rules) {
    out += fmt::format("{:<22}{:>3}  {}\n", rule->id, rule->cases.size(), rule->says);
  }
  return out;
}

}  // namespace maskctl::app
