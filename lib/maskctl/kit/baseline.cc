#include "maskctl/kit/baseline.h"

namespace maskctl::kit {
namespace {

/// How bad an outcome is. Nothing is as bad as a skip, which hides whatever there is.
int badness(Outcome outcome) {
  switch (outcome) {
    case Outcome::kObeys:
      return 0;
    case Outcome::kUndecided:
      return 1;
    case Outcome::kRefuses:
      return 2;
    case Outcome::kTimedOut:
      return 3;
    case Outcome::kAnother:
    case Outcome::kWrong:
      return 4;
    case Outcome::kSkipped:
      break;
  }
  return 5;
}

}  // namespace

std::string_view name(Change change) {
  static constexpr std::string_view kNames[] = {"as before", "better", "worse"};
  return kNames[static_cast<std::size_t>(change)];
}

Change change(const std::optional<CaseVerdict>& before, const CaseVerdict& now) {
  const Outcome then = before ? before->outcome : Outcome::kObeys;
  if (now.outcome == then) {
    const bool other_mask = then == Outcome::kAnother && before->text != now.text;
    return other_mask ? Change::kWorse : Change::kAsBefore;
  }
  // A case that was skipped says something now; that it is wrong is news.
  const int most = then == Outcome::kSkipped ? badness(Outcome::kTimedOut) : badness(then) - 1;
  return badness(now.outcome) <= most ? Change::kBetter : Change::kWorse;
}

}  // namespace maskctl::kit
