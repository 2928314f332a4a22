// The results of the command kit as JSON, and the manifests of its cases.
#include <algorithm>

#include "app/reports/kit_report.h"
#include "maskctl/verify/verify.h"

namespace maskctl::app {
namespace {

Json number_json(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json rule_json(const kit::Rule& rule) {
  return {{"id", rule.id}, {"says", rule.says}, {"others", rule.others}, {"asks", name(rule.asks)}};
}

Json tolerance_json(DType dtype, bool gradient) {
  const attention::Tolerance tolerance = attention::usual_tolerance(dtype, gradient);
  return {{"relative", tolerance.relative}, {"absolute", tolerance.absolute}};
}

}  // namespace

Json kit_json(const KitReport& report) {
  Json out{{"schema", "maskctl.kit/1"},
           {"library", report.library},
           {"dtype", name(report.dtype)},
           {"seconds", report.seconds}};
  out["counts"] = {{"cases", report.cases.size()},
                   {"obeys", report.count(kit::Outcome::kObeys)},
                   {"another", report.count(kit::Outcome::kAnother)},
                   {"wrong", report.count(kit::Outcome::kWrong)},
                   {"refuses", report.count(kit::Outcome::kRefuses)},
                   {"undecided", report.count(kit::Outcome::kUndecided)},
                   {"skipped", report.count(kit::Outcome::kSkipped)}};
  out["rules"] = Json::array();
  for (const kit::Rule* const rule : kit::all_rules()) {
    const bool asked =
        std::ranges::find(report.cases, rule, &JudgedCase::rule) != report.cases.end();
    if (asked) out["rules"].push_back(rule_json(*rule));
  }
  out["cases"] = Json::array();
  for (const JudgedCase& one : report.cases) {
    out["cases"].push_back({{"id", one.id},
                            {"rule", one.rule->id},
                            {"outcome", name(one.verdict.outcome)},
                            {"text", one.verdict.text}});
  }
  return out;
}

Json kit_manifest_json(DType dtype) {
  return {
      {"schema", "maskctl.kit-cases/1"},
      {"dtype", name(dtype)},
      {"tolerance",
       {{"results", tolerance_json(dtype, false)}, {"gradients", tolerance_json(dtype, true)}}}};
}

Json kit_case_json(const kit::MadeCase& made) {
  const kit::Call& call = made.call();
  Json out{{"id", made.id},
           {"rule", made.rule->id},
           {"says", made.rule->says},
           {"asks", name(made.rule->asks)},
           {"steps", made.source->steps},
           {"shape", {call.batch, call.heads, call.queries, call.keys}},
           {"kv_heads", call.kv_heads},
           {"dim", call.dim},
           {"value_dim", call.value_dim},
           {"scale", number_json(call.scale)},
           {"soft_cap", number_json(call.soft_cap)},
           {"sinks", call.sinks},
           {"bias", call.bias}};
  out["nan_keys"] =
      call.nan_keys.empty() ? Json(nullptr) : Json{call.nan_keys.begin, call.nan_keys.end};
  return out;
}

}  // namespace maskctl::app
