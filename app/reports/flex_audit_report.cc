#include "app/reports/flex_audit_report.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "app/reports/json_parts.h"
#include "maskctl/base/grouped.h"
#include "maskctl/base/text.h"

namespace maskctl::app {
namespace {

using attention::FlexAudit;
using attention::FlexLists;
using attention::FlexVerdict;
using attention::Listed;
using attention::Verdict;

std::string_view words_of(FlexVerdict verdict) {
  switch (verdict) {
    case FlexVerdict::kAgree:
      return "mask_mod, lists and output are one mask";
    case FlexVerdict::kOutput:
      return "the output is not that of mask_mod and lists";
    case FlexVerdict::kLists:
      return "the lists are not those of mask_mod";
    case FlexVerdict::kMaskMod:
      return "the lists were applied, which are not those of mask_mod";
    case FlexVerdict::kAll:
      return "mask_mod, lists and output differ from each other";
    case FlexVerdict::kUnclear:
      break;
  }
  return "the output cannot be judged";
}

std::string_view words_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kAnother:
      return "obeys another mask";
    case Verdict::kOtherCall:
      return "is that of another call";
    case Verdict::kPartly:
      return "obeys in part";
    default:
      return "obeys no mask that was tried";
  }
}

std::string lists_text(const FlexLists& lists) {
  if (lists.diff.equal()) return "those of mask_mod";
  return fmt::format(
      "{} from mask_mod, the first {}, open in {}: block ({}, {}) is {}{}",
      lists.diff.only_a + lists.diff.only_b == 1
          ? "1 cell differs"
          : fmt::format("{} cells differ", grouped(lists.diff.only_a + lists.diff.only_b)),
      cell_text(*lists.diff.first), lists.diff.first_in_a ? "mask_mod" : "lists", lists.row,
      lists.column, name(lists.listed),
      lists.listed == Listed::kPartial ? ", where block_mask.mask_mod decides" : "");
}

std::vector<std::string> obeyed(const FlexAudit& found) {
  std::vector<std::string> out;
  if (found.obeys_mask_mod) out.emplace_back("mask_mod");
  if (found.obeys_lists) out.emplace_back("lists");
  return out;
}

std::string output_text(const FlexAudit& found) {
  const attention::Judgement& judgement = found.report.judgement;
  if (!found.decided) return "cannot be told: " + judgement.text;
  if (const auto names = obeyed(found); !names.empty()) {
    return fmt::format("obeys {}: {}", joined(names, " and "), judgement.text);
  }
  std::string out = fmt::format("{}: {}", words_of(judgement.verdict), judgement.text);
  if (found.first) out += "; the first cell is " + cell_text(*found.first);
  if (!found.no_first.empty()) out += "; the first cell is not known: " + found.no_first;
  return out;
}

}  // namespace

std::string flex_audit_text(const FlexAudit& found) {
  return fmt::format("{:<11}{}\n{:<11}{}\n{:<11}{}\n", "lists", lists_text(found.lists), "output",
                     output_text(found), "verdict", words_of(found.verdict));
}

Json flex_audit_json(const Mask& meant, const FlexAudit& found) {
  const FlexLists& lists = found.lists;
  const bool agree = lists.diff.equal();
  Json told{{"agrees", agree},
            {"only_mask_mod", lists.diff.only_a},
            {"only_lists", lists.diff.only_b},
            {"first", first_difference(lists.diff, "mask_mod", "lists")}};
  told["block"] = agree ? Json(nullptr) : Json::array({lists.row, lists.column});
  told["listed"] = agree ? Json(nullptr) : Json(name(lists.listed));
  Json output{{"obeys", Json::array()}, {"decided", found.decided}};
  for (const std::string& one : obeyed(found)) output["obeys"].push_back(one);
  output["verdict"] = name(found.report.judgement.verdict);
  output["text"] = found.report.judgement.text;
  output["first"] = json_of(found.first);
  output["no_first"] = found.no_first.empty() ? Json(nullptr) : Json(found.no_first);
  return {{"schema", "maskctl.audit-flex/1"}, {"ok", found.verdict == FlexVerdict::kAgree},
          {"verdict", name(found.verdict)},   {"shape", extents(meant)},
          {"lists", std::move(told)},         {"output", std::move(output)}};
}

int status_of(FlexVerdict verdict) {
  if (verdict == FlexVerdict::kAgree) return 0;
  return verdict == FlexVerdict::kUnclear ? 2 : 1;
}

}  // namespace maskctl::app
