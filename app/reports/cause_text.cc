#include "app/reports/cause_text.h"

#include <fmt/format.h>

#include "maskctl/base/printable.h"
#include "maskctl/base/text.h"
#include "maskctl/inspect/recognise/summary.h"
#include "maskctl/mask/steps/chain_text.h"

namespace maskctl::app {
namespace {

std::string chain_line(const char* label, const Chain& steps, bool all, const Residue& residue) {
  const std::string chain = all ? to_text(steps) : summary_text(steps);
  std::string out =
      fmt::format("{:<8}{}", label, chain.empty() ? "every cell open" : printable(chain, kUncut));
  if (!all && chain != to_text(steps)) out += "; --all prints it whole";
  if (residue.cells > 0) {
    out += fmt::format(", except for {}", counted(residue.cells, "cell"));
  }
  return out + "\n";
}

}  // namespace

std::string cause_text(const CauseReport& report, bool all) {
  const DiffCause& cause = report.cause;
  std::string out = fmt::format("cause   {}\n", printable(cause.text, kUncut));
  if (cause.by_pipelines) {
    return out + chain_line("A is", cause.pipeline_a, all, cause.residue_a) +
           chain_line("B is", cause.pipeline_b, all, cause.residue_b);
  }
  if (!report.edit.empty()) out += chain_line("edit", cause.edit, all, cause.edit_residue);
  return out;
}

}  // namespace maskctl::app
