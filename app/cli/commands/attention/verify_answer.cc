#include "app/cli/commands/attention/verify_answer.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "app/cli/terminal.h"
#include "app/reports/verify_report.h"
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

/// The cause of a solved mask, with names for the arrays of its pipelines.
CauseReport cause_report(const DiffCause& cause) {
  ChainArrays arrays("verify", "");
  CauseReport out{cause, false, {}, {}, {}, {}};
  arrays.name(out.cause.pipeline_a), arrays.name(out.cause.pipeline_b);
  out.by_pipelines = out.cause.by_pipelines && arrays.empty();
  out.pipeline_a = to_text(out.cause.pipeline_a);
  out.pipeline_b = to_text(out.cause.pipeline_b);
  out.edit = to_text(out.cause.edit);
  return out;
}

void write_obeyed(const VerifyOptions& options, const attention::Judgement& judgement,
                  const Session& session) {
  if (options.output.dest.empty()) return;
  if (judgement.obeyed) return write_output(*judgement.obeyed, options.output, session);
  session.note(fmt::format("{} is not written: no one mask is known that the results obey",
                           options.output.dest));
}

}  // namespace

VerifyAnswer answered(const VerifyOptions& options, attention::FullVerdict found,
                      const Session& session) {
  VerifyReport report{std::string(operation_named(options.operation).name), std::move(found), {}};
  const auto& solved = report.found.solved;
  if (solved && solved->cause) report.cause = cause_report(*solved->cause);
  const attention::Judgement& judgement = report.found.report.judgement;
  write_obeyed(options, judgement, session);
  VerifyAnswer out{{}, judgement.obeyed, judgement.nearest};
  out.answer = answer_in(
      options.json,
      [&] {
        return verify_text(report) + (report.found.only_solved ? drawing(*solved, session) : "");
      },
      [=] { return verify_json(report); }, status_of(judgement.verdict));
  return out;
}

}  // namespace maskctl::app
