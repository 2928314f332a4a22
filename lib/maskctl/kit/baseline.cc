#include "maskctl/kit/baseline.h"

#include "maskctl/base/text.h"

namespace maskctl::kit {
namespace {

/// How bad an outcome is. None of those that are no answer, or a wrong one, is milder than another.
int badness(Outcome outcome) {
  switch (outcome) {
    case Outcome::kObeys:
      return 0;
    case Outcome::kUndecided:
      return 1;
    case Outcome::kRefuses:
      return 2;
    case Outcome::kFails:
    case Outcome::kTimedOut:
    case Outcome::kAnother:
    case Outcome::kWrong:
    case Outcome::kSkipped:
      break;
  }
  return 3;
}

/// The change between two verdicts of the same outcome.
Change change_within(const CaseVerdict& before, const CaseVerdict& now) {
  const auto worse_if = [](bool worse) { return worse ? Change::kWorse : Change::kAsBefore; };
  if (now.outcome == Outcome::kAnother) return worse_if(before.text != now.text);
  if (now.outcome == Outcome::kWrong) return worse_if(cause_of(before.text) != cause_of(now.text));
  if (now.note == before.note) return Change::kAsBefore;
  return now.note.empty() ? Change::kBetter : Change::kWorse;
}

/// The end of the number that begins at `at`: of "1.5e-3" or of the range "3-17".
std::size_t end_of_number(std::string_view text, std::size_t at) {
  const auto digit = [text](std::size_t i) { return i < text.size() && is_digit(text[i]); };
  while (digit(at)) {
    while (digit(at)) ++at;
    const bool sign = at < text.size() && text[at] == 'e' && at + 1 < text.size() &&
                      (text[at + 1] == '-' || text[at + 1] == '+');
    const std::size_t mark = sign ? 2 : 1;
    const bool joins =
        at < text.size() && std::string_view("e.,-").find(text[at]) != std::string_view::npos;
    if (!joins || !digit(at + mark)) break;
    at += mark;
  }
  return at;
}

}  // namespace

std::string_view name(Change change) {
  static constexpr std::string_view kNames[] = {"as before", "better", "worse"};
  return kNames[static_cast<std::size_t>(change)];
}

std::string cause_of(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (is_digit(text[at])) {
      at = end_of_number(text, at);
      out += '#';
      continue;
    }
    const std::size_t close = text[at] == '(' ? text.find(')', at) : text.npos;
    const std::string_view inside = text.substr(at, close == text.npos ? 0 : close - at);
    if (inside.find_first_of("0123456789") != inside.npos) {
      at = close + 1;  // which rows or cells
      if (out.ends_with(' ')) out.pop_back();
      continue;
    }
    out += text[at++];
  }
  return out;
}

Change change(const std::optional<CaseVerdict>& before, const CaseVerdict& now) {
  if (!before) return now.outcome == Outcome::kObeys ? Change::kAsBefore : Change::kWorse;
  if (now.outcome == before->outcome) return change_within(*before, now);
  return badness(now.outcome) < badness(before->outcome) ? Change::kBetter : Change::kWorse;
}

}  // namespace maskctl::kit
