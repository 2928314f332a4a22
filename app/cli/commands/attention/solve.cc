#include "app/cli/commands/attention/solve.h"

#include <string>
#include <utility>

#include "app/cli/commands/attention/call.h"
#include "app/cli/terminal.h"
#include "app/reports/remedies.h"
#include "app/reports/solved_report.h"
#include "app/session/chain_arrays.h"
#include "app/session/save.h"
#include "maskctl/mask/steps/chain_text.h"
#include "maskctl/pipeline/picture.h"

namespace maskctl::app {
namespace {

/// A drawing of both masks on top of each other, for the first batch and head in which they differ;
/// empty if the masks are equal.
std::string drawing(const attention::SolvedVerdict& found, const Session& session) {
  if (found.diff.equal()) return "";
  const Cell at = *found.diff.first;
  const Panel panel{.plane = found.declared.plane(at.batch, at.head),
                    .other = found.solved.mask.plane(at.batch, at.head)};
  const Figure figure{.name = "declared", .other_name = "applied", .panels = {panel}};
  return "\n" + draw_text(figure, stdout_drawing(Style::kAuto, session.settings().color));
}

}  // namespace

SolvedReport solved_report(const VerifyOptions& options, attention::SolvedVerdict found) {
  SolvedReport report{
      std::string(operation_named(options.operation).name), std::move(found), {}, ""};
  if (report.found.no_cause) report.no_cause = message_of(*report.found.no_cause);
  if (!report.found.cause) return report;
  ChainArrays arrays("verify", "");
  CauseReport& out = report.cause.emplace(CauseReport{*report.found.cause, false, {}, {}, {}, {}});
  arrays.name(out.cause.pipeline_a), arrays.name(out.cause.pipeline_b);
  out.by_pipelines = out.cause.by_pipelines && arrays.empty();
  out.pipeline_a = to_text(out.cause.pipeline_a);
  out.pipeline_b = to_text(out.cause.pipeline_b);
  out.edit = to_text(out.cause.edit);
  return report;
}

Answer solved_answer(const VerifyOptions& options, attention::SolvedVerdict found,
                     const Session& session) {
  const SolvedReport report = solved_report(options, std::move(found));
  Answer answer = answer_in(
      options.json, [&] { return solved_text(report) + drawing(report.found, session); },
      [=] { return solved_json(report); }, status_of(report.found.verdict()));
  if (!options.output.dest.empty()) {
    write_output(report.found.solved.mask, options.output, session);
  }
  return answer;
}

}  // namespace maskctl::app
