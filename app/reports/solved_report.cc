#include "app/reports/solved_report.h"

#include <fmt/format.h>

#include <cmath>

#include "app/reports/json_parts.h"
#include "maskctl/base/grouped.h"
#include "maskctl/base/text.h"

namespace maskctl::app {
namespace {

/// How many cells are undecided, and for which reasons.
std::string undecided_text(const attention::SolvedMask& solved) {
  std::string out;
  const auto add = [&out](Index cells, const std::string& why) {
    if (cells > 0)
      out += fmt::format("{}{} {}", out.empty() ? "" : ", ", counted(cells, "cell"), why);
  };
  add(solved.light.count(), "whose weight lies below the rounding of the output");
  add(solved.alike.count(), "in whose place others explain it as well");
  add(solved.unsolved.count(), fmt::format("in {} that no keys explain which were found",
                                           counted(solved.unsolved_rows, "row")));
  return out.empty() ? "none" : out;
}

bool tells_little(const SolvedReport& report) {
  return report.untold > 0 && 2 * report.untold >= report.rows;
}

std::string verdict_of(const SolvedReport& report) {
  switch (solved_status(report)) {
    case 1:
      return "applied another mask than the declared one";
    case 2:
      return tells_little(report) ? fmt::format("undecided: no cell of {} of {} could be told",
                                                grouped(report.untold), counted(report.rows, "row"))
                                  : "undecided: not all rows could be told";
    default:
      return "applied the declared mask, as far as rounding tells";
  }
}

std::string margin_text(double margin) {
  if (!std::isfinite(margin)) return "";
  return fmt::format("; any mistake would fit worse by {:.0f} standard deviations of rounding",
                     margin);
}

}  // namespace

int solved_status(const SolvedReport& report) {
  if (!report.diff.equal()) return 1;
  const bool ambiguous = report.solved.alike.count() + report.solved.unsolved_rows > 0;
  return ambiguous || tells_little(report) ? 2 : 0;
}

std::string solved_text(const SolvedReport& report) {
  const MaskDiff& diff = report.diff;
  std::string out;
  const auto line = [&out](const char* label, const std::string& text) {
    out += fmt::format("{:<18}{}\n", label, text);
  };
  if (!diff.equal()) {
    line("cells", fmt::format("{} closed by the kernel, {} opened", grouped(diff.only_a),
                              grouped(diff.only_b)));
    line("first", fmt::format("{}: {} by the kernel", cell_text(*diff.first),
                              diff.first_in_a ? "closed" : "opened"));
    if (report.cause) line("cause", report.cause->cause.text);
    if (!report.no_cause.empty()) line("cause", "none found: " + report.no_cause);
  }
  line("undecided", undecided_text(report.solved));
  line("verdict", verdict_of(report) + margin_text(report.solved.margin));
  return out;
}

std::string solved_json(const SolvedReport& report) {
  static constexpr const char* kVerdicts[] = {"obeys", "another", "unclear"};
  const attention::SolvedMask& solved = report.solved;
  const int status = solved_status(report);
  Json out{{"schema", "maskctl.verify/1"}, {"operation", report.operation}, {"ok", status == 0},
           {"verdict", kVerdicts[status]}, {"text", verdict_of(report)},    {"rows", ""},
           {"least_cell", nullptr}};
  out["checks"] = Json::array();
  out["alternatives"] = Json::array();
  Json& part = out["solved"];
  part = {{"shape", extents(solved.mask)},
          {"closed_by_kernel", report.diff.only_a},
          {"opened_by_kernel", report.diff.only_b}};
  part["first"] = first_difference(report.diff, "declared", "applied");
  part["cause"] = report.cause ? cause_json(*report.cause) : Json(nullptr);
  part["no_cause"] = report.no_cause.empty() ? Json(nullptr) : Json(report.no_cause);
  part["undecided_cells"] = solved.undecided();
  part["undecided"] = Json::array();
  for (const Cell& cell : report.undecided) {
    part["undecided"].push_back({cell.batch, cell.head, cell.query, cell.key});
  }
  part["below_rounding"] = solved.light.count();
  part["alike"] = solved.alike.count();
  part["unsolved"] = solved.unsolved.count();
  part["unsolved_rows"] = solved.unsolved_rows;
  part["untold_rows"] = report.untold;
  part["margin"] = std::isfinite(solved.margin) ? Json(solved.margin) : Json(nullptr);
  part["noise"] = solved.noise;
  return text_of(out);
}

}  // namespace maskctl::app
