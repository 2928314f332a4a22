#include "app/reports/merge_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>

#include "maskctl/base/grouped.h"
#include "maskctl/base/text.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::app {
namespace {

using attention::MergeFinding;
using attention::MergeJudgement;
using attention::MergeVerdict;

const char* base_name(bool base_2) { return base_2 ? "2" : "e"; }

std::string rows_text(const MergeJudgement& judgement) {
  std::string out = counted(judgement.rows, "row");
  if (judgement.part_empty > 0) {
    out += fmt::format("; in {} a part has no keys, in {} none has", grouped(judgement.part_empty),
                       grouped(judgement.all_empty));
  }
  if (judgement.untold > 0) {
    out += fmt::format("; {} not judged: the lse of a part is NaN", grouped(judgement.untold));
  }
  return out;
}

/// The line about an array, and one about the mistakes that it does not show.
std::string finding_text(const char* array, const MergeFinding& finding) {
  std::string out = fmt::format("{:<10}{}\n", array, to_text(finding));
  if (finding.same.empty()) return out;
  constexpr std::size_t kMost = 4;
  const std::size_t shown = std::min(finding.same.size(), kMost);
  const std::string rest =
      finding.same.size() > shown ? fmt::format("; and {} more", finding.same.size() - shown) : "";
  return out + fmt::format("{:<10}these would give the same here: {}{}\n", "",
                           joined(std::span(finding.same).first(shown), "; "), rest);
}

Json finding_json(const MergeFinding& finding) {
  return {{"verdict", name(finding.verdict)},
          {"text", to_text(finding)},
          {"fits", finding.fits},
          {"same", finding.same},
          {"tried", finding.tried},
          {"in_part", finding.in_part},
          {"rows_off", finding.rows_off},
          {"rows", finding.where},
          {"first", finding.first}};
}

std::string verdict_text(const MergeReport& report) {
  const MergeJudgement& judgement = report.judgement;
  if (judgement.right_to_other_base) {
    return fmt::format(
        "wrong if the lse are to base {}, right if they are to base {} "
        "(--lse-base {})",
        base_name(report.base_2), base_name(!report.base_2), base_name(!report.base_2));
  }
  switch (judgement.verdict) {
    case MergeVerdict::kRight:
      return "the merge is right, up to rounding";
    case MergeVerdict::kUnclear:
      return "undecided";
    case MergeVerdict::kMistaken:
    case MergeVerdict::kNone:
      break;
  }
  return "the merge is wrong";
}

}  // namespace

std::string merge_text(const MergeReport& report) {
  const MergeJudgement& judgement = report.judgement;
  const auto& [batch, heads, queries, length] = judgement.shape;
  std::string out =
      fmt::format("{:<10}{}: batch {}, heads {}, queries {}, head_dim {}; lse to base {}{}\n",
                  "parts", report.parts, batch, heads, queries, length, base_name(report.base_2),
                  judgement.transposed_lse ? ", of axes [B,T,H]" : "");
  out += fmt::format("{:<10}{}\n", "rows", rows_text(judgement));
  out += finding_text("out", judgement.out);
  if (judgement.lse) out += finding_text("lse", *judgement.lse);
  return out + fmt::format("{:<10}{}\n", "verdict", verdict_text(report));
}

Json merge_json(const MergeReport& report) {
  const MergeJudgement& judgement = report.judgement;
  return {{"schema", "maskctl.verify-merge/1"},
          {"parts", report.parts},
          {"shape", judgement.shape},
          {"dtype", name(judgement.precision)},
          {"lse_base", base_name(report.base_2)},
          {"lse_axes", judgement.transposed_lse ? "bth" : "bht"},
          {"ok", judgement.verdict == MergeVerdict::kRight},
          {"verdict", name(judgement.verdict)},
          {"text", verdict_text(report)},
          {"right_to_other_base", judgement.right_to_other_base},
          {"rows", judgement.rows},
          {"part_empty_rows", judgement.part_empty},
          {"empty_rows", judgement.all_empty},
          {"untold_rows", judgement.untold},
          {"out", finding_json(judgement.out)},
          {"lse", judgement.lse ? finding_json(*judgement.lse) : Json(nullptr)}};
}

}  // namespace maskctl::app
