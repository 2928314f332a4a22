#include "app/reports/verify_report.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>
#include <vector>

#include "app/reports/json_parts.h"
#include "app/reports/remedies.h"
#include "maskctl/base/grouped.h"
#include "maskctl/base/text.h"
#include "maskctl/mask/planes/words.h"

namespace maskctl::app {
namespace {

using attention::NextQuestion;
using attention::SolvedVerdict;
using attention::VerifyCheck;

std::string labelled(std::string_view label, std::string_view text) {
  return fmt::format("{:<18}{}\n", label, text);
}

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
std::string units_text(const SolvedVerdict& found) {
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

/// The lines about a solved mask that stand below another verdict: the cells, their cause, and what
/// is undecided.
std::string solved_lines(const VerifyReport& report) {
  const SolvedVerdict& found = *report.found.solved;
  const MaskDiff& diff = found.diff;
  std::string out;
  if (!diff.equal()) {
    out += labelled("cells", fmt::format("{} closed by the kernel, {} opened", grouped(diff.only_a),
                                         grouped(diff.only_b)));
    out += labelled("first", fmt::format("{}: {} by the kernel", cell_text(*diff.first),
                                         diff.first_in_a ? "closed" : "opened"));
    if (report.cause) out += labelled("cause", report.cause->cause.text);
    if (found.no_cause) out += labelled("cause", "none found: " + message_of(*found.no_cause));
  }
  return out + labelled("undecided", undecided_text(found.solved));
}

std::string checks_text(const std::vector<VerifyCheck>& checks) {
  static constexpr const char* kStates[] = {"ok", "FAILED", "skipped"};
  std::string out;
  for (const VerifyCheck& check : checks) {
    out += fmt::format("{:<18}{:<9}{}\n", check.name,
                       kStates[static_cast<std::size_t>(check.state)], check.detail);
  }
  return out;
}

std::string next_text(NextQuestion next) {
  if (next == NextQuestion::kNone) return "";
  if (next == NextQuestion::kProbe) {
    return labelled("next",
                    "`maskctl probe make`, where the kernel can be run again: its output shows the "
                    "mask, key heads and scale");
  }
  return labelled("next", fmt::format("--solve asks for {}, from the same arrays",
                                      next == NextQuestion::kCells
                                          ? "the mask cell by cell"
                                          : "lighter cells, down to the rounding of the output"));
}

const char* state_name(VerifyCheck::State state) {
  switch (state) {
    case VerifyCheck::State::kPassed:
      return "passed";
    case VerifyCheck::State::kFailed:
      return "failed";
    case VerifyCheck::State::kSkipped:
      break;
  }
  return "skipped";
}

Json finite_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

/// Adds the judgement of all results together, or of one array.
void add_judgement(const attention::Judgement& judgement, Json& out) {
  out["verdict"] = name(judgement.verdict);
  out["text"] = judgement.text;
  out["rows"] = judgement.where;
  out["in_part"] = judgement.in_part;
  out["zero_rows"] = judgement.zero_rows;
  out["nan_rows"] = judgement.nan_rows;
  out["nan_keys"] = judgement.nan_keys;
  out["least_cell"] = judgement.least_cell > 0 ? finite_or_null(judgement.least_cell) : Json();
  out["alternatives"] = Json::array();
  for (const attention::Comparison& line : judgement.comparisons) {
    out["alternatives"].push_back({{"text", line.text},
                                   {"state", name(line.state)},
                                   {"share", finite_or_null(line.share)},
                                   {"error", finite_or_null(line.error)},
                                   {"rows", line.rows}});
  }
}

Json solved_json(const VerifyReport& report) {
  const SolvedVerdict& found = *report.found.solved;
  const attention::SolvedMask& solved = found.solved;
  Json out{{"shape", extents(solved.mask)},
           {"closed_by_kernel", found.diff.only_a},
           {"opened_by_kernel", found.diff.only_b}};
  out["first"] = first_difference(found.diff, "declared", "applied");
  out["cause"] = report.cause ? cause_json(*report.cause) : Json(nullptr);
  out["no_cause"] = found.no_cause ? Json(message_of(*found.no_cause)) : Json(nullptr);
  out["undecided_cells"] = solved.undecided();
  out["undecided"] = Json::array();
  for (const Cell& cell : first_cells(found.undecided)) {
    out["undecided"].push_back({cell.batch, cell.head, cell.query, cell.key});
  }
  out["below_rounding"] = solved.light.count();
  out["alike"] = solved.alike.count();
  out["unsolved"] = solved.unsolved.count();
  out["unsolved_rows"] = solved.unsolved_rows;
  out["taken_rows"] = solved.taken_rows;
  out["untold_rows"] = found.untold_rows;
  out["margin"] = finite_or_null(solved.margin);
  out["noise"] = solved.noise;
  return out;
}

}  // namespace

std::string verify_text(const VerifyReport& report) {
  const auto& [judged, solved, only_solved, not_solved, next] = report.found;
  if (only_solved) {
    return solved_lines(report) +
           labelled("verdict", to_text(*solved) + margin_text(solved->solved.margin)) +
           units_text(*solved);
  }
  std::string out = checks_text(judged.checks) + labelled("verdict", to_text(judged.judgement));
  if (solved) out += solved_lines(report);
  if (!not_solved.empty()) out += labelled("not solved", not_solved);
  return out + next_text(next);
}

Json verify_json(const VerifyReport& report) {
  const auto& [judged, solved, only_solved, not_solved, next] = report.found;
  const attention::Judgement& judgement = judged.judgement;
  Json out{{"schema", "maskctl.verify/1"},
           {"operation", report.operation},
           {"ok", judgement.verdict == attention::Verdict::kObeys}};
  add_judgement(judgement, out);
  out["checks"] = Json::array();
  for (const VerifyCheck& check : judged.checks) {
    out["checks"].push_back(
        {{"name", check.name}, {"state", state_name(check.state)}, {"detail", check.detail}});
  }
  out["parts"] = Json::array();
  for (const auto& [array, part] : judgement.parts) {
    Json entry{{"array", array}};
    add_judgement(part, entry);
    out["parts"].push_back(std::move(entry));
  }
  if (solved) out["solved"] = solved_json(report);
  if (!not_solved.empty()) out["not_solved"] = not_solved;
  out["next"] = next == NextQuestion::kNone ? Json(nullptr) : Json(name(next));
  return out;
}

}  // namespace maskctl::app
