#include "app/cli/commands/cause_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/reports/remedies.h"
#include "app/session/chain_arrays.h"
#include "maskctl/base/error.h"
#include "maskctl/mask/steps/chain_text.h"

namespace maskctl::app {
namespace {

/// Returns false, with a note, where writing fails.
bool write_arrays(const ChainArrays& arrays, bool force, Session& session) {
  try {
    return arrays.write({.force = force});
  } catch (const Error& error) {
    if (error.code() == Errc::kCancelled) throw;
    session.note(fmt::format("the arrays of the pipelines are not written: {}", message_of(error)));
    return false;
  }
}

bool reads_arrays(DiffCause cause) {
  ChainArrays arrays("diff", "");
  arrays.name(cause.pipeline_a);
  arrays.name(cause.pipeline_b);
  return !arrays.empty();
}

}  // namespace

std::vector<CauseReport> cause_reports(std::vector<DiffCause> causes, const std::string& dest,
                                       bool force, Session& session) {
  std::vector<CauseReport> out;
  ChainArrays arrays("diff", dest);
  for (DiffCause& cause : causes) {
    const bool stands_alone = cause.by_pipelines && !reads_arrays(cause);
    CauseReport& report =
        out.emplace_back(CauseReport{std::move(cause), stands_alone, {}, {}, {}, {}});
    if (!report.cause.by_pipelines) continue;
    arrays.name(report.cause.pipeline_a);
    arrays.name(report.cause.pipeline_b);
  }
  const bool written = write_arrays(arrays, force, session);
  if (!arrays.empty() && dest.empty()) {
    session.note("the arrays of the pipelines are not written; --write diff.npz does it");
  }
  for (CauseReport& report : out) {
    report.by_pipelines |= report.cause.by_pipelines && written;
    report.pipeline_a = to_text(report.cause.pipeline_a);
    report.pipeline_b = to_text(report.cause.pipeline_b);
    report.edit = to_text(report.cause.edit);
    report.arrays = written ? arrays.sources() : std::vector<std::string>{};
  }
  if (!dest.empty() && !written && arrays.empty()) {
    session.note(fmt::format("{} is not written: no pipeline of a cause reads arrays", dest));
  }
  return out;
}

}  // namespace maskctl::app
