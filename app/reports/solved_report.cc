#include "app/reports/solved_report.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "app/reports/json_parts.h"
#include "maskctl/base/grouped.h"
#include "maskctl/base/text.h"
#include "maskctl/mask/planes/words.h"

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
  if (out.empty()) out = "none";
  if (solved.taken_rows == 0) return out;
  return fmt::format("{}; {} not solved, as they obey the declared mask or the nearest tried", out,
                     counted(solved.taken_rows, "row"));
}

constexpr std::size_t kListed = 64;

/// The first kListed open cells of a mask, ordered by batch, head, query and key.
std::vector<Cell> first_cells(const Mask& mask) {
  std::vector<Cell> out;
  const auto add = [&](Index b, Index h, Index q, Range keys) {
    for (Index k = keys.begin; k < keys.end && out.size() < kListed; ++k)
      out.push_back({b, h, q, k});
  };
  for (Index b = 0; b < mask.batch(); ++b) {
    for (Index h = 0; h < mask.heads(); ++h) {
      mask.plane(b, h)->rows({0, mask.queries()}, [&](Range rows, const Keys& keys) {
        std::vector<maskctl::Run> scratch;
        const std::span<const maskctl::Run> runs = as_runs(keys, scratch);
        if (runs.empty()) return;
        for (Index q = rows.begin; q < rows.end && out.size() < kListed; ++q) {
          for (const maskctl::Run& run : runs) add(b, h, q, {run.begin, run.end});
        }
      });
    }
  }
  return out;
}

/// A line about the first query that differs: which pages or blocks of keys the kernel read.
std::string units_text(const attention::SolvedVerdict& found) {
  if (!found.units) return "";
  const auto list = [](const std::vector<Index>& some) {
    return some.empty() ? "none" : maskctl::joined(some, ", ");
  };
  return fmt::format("{:<18}query {} read beside its own: {}; left out: {}\n", found.unit.plural,
                     found.units->query, list(found.units->beside), list(found.units->left_out));
}

std::string margin_text(double margin) {
  if (!std::isfinite(margin)) return "";
  return fmt::format("; any mistake would fit worse by {:.0f} standard deviations of rounding",
                     margin);
}

}  // namespace

std::string solved_lines(const SolvedReport& report) {
  const MaskDiff& diff = report.found.diff;
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
  line("undecided", undecided_text(report.found.solved));
  return out;
}

std::string solved_text(const SolvedReport& report) {
  return solved_lines(report) +
         fmt::format("{:<18}{}{}\n", "verdict", to_text(report.found),
                     margin_text(report.found.solved.margin)) +
         units_text(report.found);
}

Json solved_part_json(const SolvedReport& report) {
  const attention::SolvedVerdict& found = report.found;
  const attention::SolvedMask& solved = found.solved;
  Json part;
  part = {{"shape", extents(solved.mask)},
          {"closed_by_kernel", found.diff.only_a},
          {"opened_by_kernel", found.diff.only_b}};
  part["first"] = first_difference(found.diff, "declared", "applied");
  part["cause"] = report.cause ? cause_json(*report.cause) : Json(nullptr);
  part["no_cause"] = report.no_cause.empty() ? Json(nullptr) : Json(report.no_cause);
  part["undecided_cells"] = solved.undecided();
  part["undecided"] = Json::array();
  for (const Cell& cell : first_cells(found.undecided)) {
    part["undecided"].push_back({cell.batch, cell.head, cell.query, cell.key});
  }
  part["below_rounding"] = solved.light.count();
  part["alike"] = solved.alike.count();
  part["unsolved"] = solved.unsolved.count();
  part["unsolved_rows"] = solved.unsolved_rows;
  part["taken_rows"] = solved.taken_rows;
  part["untold_rows"] = found.untold_rows;
  part["margin"] = std::isfinite(solved.margin) ? Json(solved.margin) : Json(nullptr);
  part["noise"] = solved.noise;
  return part;
}

Json solved_json(const SolvedReport& report) {
  const attention::SolvedVerdict& found = report.found;
  const attention::Verdict verdict = found.verdict();
  Json out{{"schema", "maskctl.verify/1"},
           {"operation", report.operation},
           {"ok", verdict == attention::Verdict::kObeys},
           {"verdict", name(verdict)},
           {"text", to_text(found)},
           {"rows", ""},
           {"in_part", false},
           {"zero_rows", ""},
           {"nan_rows", ""},
           {"nan_keys", ""},
           {"least_cell", nullptr}};
  out["checks"] = Json::array();
  out["parts"] = Json::array();
  out["alternatives"] = Json::array();
  out["solved"] = solved_part_json(report);
  return out;
}

}  // namespace maskctl::app
