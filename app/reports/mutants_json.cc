// The results of the command mutants as JSON.
#include <optional>

#include "app/reports/mutants_report.h"

namespace maskctl::app {
namespace {

using attention::KindScore;
using attention::RuleScore;
using attention::WrongAnswer;

Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json mask_json(const MutatedMask& mask) {
  Json out{{"source", mask.source}, {"shape", mask.shape}, {"seed", mask.seed}};
  const attention::MutantCall& call = mask.call;
  out["call"] = {{"batch", call.batch},
                 {"heads", call.heads},
                 {"kv_heads", call.kv_heads},
                 {"dim", call.dim},
                 {"dtype", name(call.dtype)},
                 {"scale", or_null(call.scale)},
                 {"cap", or_null(call.soft_cap)},
                 {"sinks", call.sinks},
                 {"bias", call.bias}};
  out["left_out"] = Json::array();
  for (const attention::KindLeftOut& kind : mask.left_out) {
    out["left_out"].push_back({{"kind", kind.kind}, {"reason", kind.reason}});
  }
  return out;
}

Json kind_json(const KindScore& score) {
  return {{"kind", score.kind},
          {"group", name(score.group)},
          {"made", score.made},
          {"accepted", score.accepted},
          {"refused", score.refused},
          {"undecided", score.undecided},
          {"errors", score.errors},
          {"unread", score.unread},
          {"above_bound", score.above_bound},
          {"least_passed", or_null(score.least_passed)},
          {"most_passed", or_null(score.most_passed)}};
}

Json answers_json(const std::vector<WrongAnswer>& answers) {
  Json out = Json::array();
  for (const WrongAnswer& answer : answers) {
    Json one = truth_json(answer.mask, answer.number, answer.truth);
    one["bound"] = answer.bound;
    out.push_back(std::move(one));
  }
  return out;
}

Json rule_json(const RuleScore& score) {
  const auto sum = [&score](Index KindScore::*member, bool (*of)(attention::MutantGroup)) {
    return score.sum(member, of);
  };
  Json out{{"rule", score.rule}, {"meaning", score.meaning}, {"source", score.source}};
  out["fails"] = score.fails();
  out["wrong_accepted"] = sum(&KindScore::accepted, attention::of_wrong);
  out["above_bound"] = sum(&KindScore::above_bound, attention::of_wrong);
  out["right_refused"] = sum(&KindScore::refused, attention::of_right);
  out["coarse_refused"] = sum(&KindScore::refused, attention::of_coarse);
  out["errors"] = score.errors();
  out["first_error"] = score.first_error.empty() ? Json(nullptr) : Json(score.first_error);
  out["seconds"] = score.seconds;
  out["kinds"] = Json::array();
  for (const KindScore& kind : score.kinds) out["kinds"].push_back(kind_json(kind));
  out["accepted"] = answers_json(score.accepted);
  out["refused"] = answers_json(score.refused);
  return out;
}

}  // namespace

Json truth_json(const std::string& mask, Index number, const attention::MutantTruth& truth) {
  Json out{{"mask", mask},
           {"number", number},
           {"kind", truth.kind},
           {"group", name(truth.group)},
           {"right", is_right(truth.group)},
           {"text", truth.text},
           {"opened", truth.opened},
           {"closed", truth.closed},
           {"weight", truth.weight},
           {"rows", truth.rows},
           {"lse_only", truth.lse_only}};
  out["heaviest"] = {{"batch", truth.heaviest.batch},
                     {"head", truth.heaviest.head},
                     {"query", truth.heaviest.query}};
  out["cells"] = Json::array();
  for (const attention::ChangedCells& cells : truth.cells) {
    out["cells"].push_back({{"batch", cells.batch},
                            {"head", cells.head},
                            {"queries", {cells.queries.begin, cells.queries.end}},
                            {"keys", {cells.keys.begin, cells.keys.end}},
                            {"opened", cells.opened}});
  }
  return out;
}

Json mutants_json(const MutantsReport& report) {
  Json out{{"schema", "maskctl.mutants/1"}, {"made", report.made},
           {"wrong", report.wrong},         {"right", report.right},
           {"coarse", report.coarse},       {"seed", static_cast<std::int64_t>(report.seed)},
           {"seconds", report.seconds}};
  out["folder"] = report.folder.empty() ? Json(nullptr) : Json(report.folder);
  out["masks"] = Json::array();
  for (const MutatedMask& mask : report.masks) out["masks"].push_back(mask_json(mask));
  out["rules"] = Json::array();
  for (const RuleScore& score : report.rules) out["rules"].push_back(rule_json(score));
  return out;
}

}  // namespace maskctl::app
