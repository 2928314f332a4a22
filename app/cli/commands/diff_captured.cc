#include "app/cli/commands/diff_captured.h"

#include "app/reports/captured_report.h"

namespace maskctl::app {

Answer diff_captured_runs(const NamedRun& a, const NamedRun& b, bool json, bool all) {
  const CapturedReport report{a.name, b.name, std::ssize(a.layers), std::ssize(b.layers),
                              diff_captured(a.layers, b.layers)};
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
      json, [&] { return captured_text(report, all); }, [=] { return captured_json(report); },
      status());
}

}  // namespace maskctl::app
