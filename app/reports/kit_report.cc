#include "app/reports/kit_report.h"

#include <algorithm>

namespace maskctl::app {

Index KitReport::count(kit::Outcome outcome) const {
  return std::ranges::count(cases, outcome,
                            [](const JudgedCase& one) { return one.verdict.outcome; });
}

std::optional<kit::CaseVerdict> KitReport::before(const JudgedCase& one) const {
  if (!baseline) return std::nullopt;
  const auto found = baseline->cases.find(one.id);
  return found == baseline->cases.end() ? std::nullopt : std::optional(found->second);
}

kit::Change KitReport::change(const JudgedCase& one) const {
  return kit::change(before(one), one.verdict);
}

Index KitReport::count(kit::Change wanted) const {
  return std::ranges::count(cases, wanted, [this](const JudgedCase& one) { return change(one); });
}

int KitReport::status() const {
  int status = 0;
  for (const JudgedCase& one : cases) {
    if (change(one) != kit::Change::kWorse) continue;
    if (one.verdict.outcome != kit::Outcome::kUndecided) return 1;
    status = 2;
  }
  return status;
}

}  // namespace maskctl::app
