#include "app/python/mutant_run.h"

#include <utility>

#include "maskctl/base/error.h"
#include "maskctl/base/stopwatch.h"

namespace maskctl::app {

MutantRun::MutantRun(Subject subject) : subject_(std::move(subject)) {
  report_.masks.push_back(described(subject_));
  attention::RuleScore& score = report_.rules.emplace_back();
  score.rule = "the rule";
  score.meaning = "a function of Python";
}

void MutantRun::make(Index number) {
  const Stopwatch watch;
  last_ = subject_.mutants.make(number);
  report_.seconds += watch.seconds();
  any_ = true;
}

void MutantRun::judge(bool accepted, double bound) {
  if (!any_) throw Error(Errc::kInvalidArgument, "no mutant has been made that could be judged");
  report_.count(last_.truth.group);
  const auto answer = accepted ? attention::RuleAnswer::kAccepts : attention::RuleAnswer::kRefuses;
  report_.rules.front().add(subject_.source, last_, {answer, bound}, true);
}

Answer MutantRun::answer() const {
  const int status = report_.rules.front().fails() ? 1 : 0;
  return answer_in(
      false, [this] { return mutants_text(report_); },
      [report = report_] { return mutants_json(report); }, status);
}

}  // namespace maskctl::app
