#include "app/cli/commands/diff_captured.h"

#include "app/cli/commands/cause_report.h"
#include "app/reports/captured_report.h"

namespace maskctl::app {

Answer diff_captured_runs(const NamedRun& a, const NamedRun& b, const RunsOptions& options,
                          Session& session) {
  CapturedReport report{
      a.name, b.name, std::ssize(a.layers), std::ssize(b.layers), diff_captured(a.layers, b.layers),
      {}};
  std::vector<DiffCause> causes;
  for (const CapturedDifference& one : report.diff.differences) {
    if (one.cause) causes.push_back(*one.cause);
  }
  report.causes = cause_reports(std::move(causes), options.dest, options.force, session);
  const auto status = [&] {
    switch (report.diff.answer()) {
      case CapturedDiff::Answer::kEqual:
        return 0;
      case CapturedDiff::Answer::kDiffer:
        return 1;
      case CapturedDiff::Answer::kUnknown:
        break;
    }
    return 2;
  };
  return answer_in(
      options.json, [&] { return captured_text(report, options.all); },
      [=] { return captured_json(report); }, status());
}

}  // namespace maskctl::app
