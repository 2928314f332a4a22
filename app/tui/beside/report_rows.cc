#include "app/tui/beside/report_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/reports/check_report.h"
#include "app/reports/report.h"
#include "app/tui/beside/findings.h"
#include "maskctl/base/text.h"
#include "maskctl/inspect/check/check.h"
#include "maskctl/inspect/count/stats.h"
#include "maskctl/inspect/diff/diff.h"
#include "maskctl/inspect/recognise/recognise.h"

namespace maskctl::app::tui {
namespace {

using Lines = std::vector<std::string>;

Lines lines_of(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  Lines out;
  for (const std::string_view line : split(text, '\n')) out.emplace_back(line);
  return out;
}

Lines recognise_lines(const Scene& scene) {
  const Recognised found = without_guesses(recognise(scene.mask), scene.mask);
  Lines out{recognised_text(found.chain)};
  if (found.residue.cells > 0)
    out.push_back(fmt::format("except for {}", counted(found.residue.cells, "cell")));
  if (found.irregular) out.emplace_back("no rule explains much of it");
  return out;
}

Lines cause_lines(const Scene& scene) {
  if (!scene.other) return {"there is one SOURCE; maskctl tui SOURCE OTHER shows two"};
  const auto cause = diff_cause(scene.mask, *scene.other, diff(scene.mask, *scene.other),
                                {scene.checked.whole, scene.other_whole, {}, {}});
  return {cause ? cause->text : "A and B are equal"};
}

Lines stats_lines(const Scene& scene) {
  const BlockSize tiles[] = {{64, 64}, {128, 128}};
  return lines_of(stats_text(scene.mask, mask_stats(scene.mask, tiles)));
}

Lines check_lines(const Scene& scene) {
  CheckReport report;
  report.source = scene.name;
  report.shape = {scene.mask.batch(), scene.mask.heads(), scene.mask.queries(), scene.mask.keys()};
  report.linted = true;
  report.found = check(scene.checked);
  return lines_of(check_text(report));
}

Lines cost_lines(const Scene& scene) {
  CostQuery query;
  drop_larger_blocks(query.blocks, scene.mask);
  return lines_of(cost_text(scene.mask, mask_cost(scene.mask, query)));
}

/// Makes report lines from the texts that `lines` returns. None of them leads to a cell.
template <Lines (*lines)(const Scene&)>
std::vector<ReportLine> plain(const Scene& scene) {
  std::vector<ReportLine> out;
  for (std::string& line : lines(scene)) out.push_back({std::move(line)});
  return out;
}

constexpr ReportRow kRows[] = {{Report::kRecognise, "The mask is", false, plain<recognise_lines>},
                               {Report::kCause, "Cause", false, plain<cause_lines>},
                               {Report::kStats, "Statistics", true, plain<stats_lines>},
                               {Report::kCheck, "Check", true, plain<check_lines>},
                               {Report::kCost, "Cost", true, plain<cost_lines>},
                               {Report::kFindings, "Findings", true, findings_lines},
                               {Report::kDocuments, "Documents", true, documents_lines}};

}  // namespace

const ReportRow& report_row(Report report) {
  return *std::ranges::find(kRows, report, &ReportRow::report);
}

}  // namespace maskctl::app::tui
