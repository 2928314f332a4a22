// The results of the command kit as JSON, and the manifests of its cases.
#include <algorithm>

#include "app/reports/kit_report.h"
#include "maskctl/kit/expected.h"

namespace maskctl::app {
namespace {

Json number_json(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json rule_json(const kit::Rule& rule) {
  return {{"id", rule.id}, {"says", rule.says}, {"others", rule.others}, {"asks", name(rule.asks)}};
}

/// The most keys that a query sees.
Index depth_of(const Mask& mask) {
  Index most = 0;
  for (const PlanePtr& plane : mask.distinct()) {
    plane->row_sizes({0, mask.queries()}, [&most](Range, const Plane::RowSize& row) {
      most = std::max(most, row.keys);
    });
  }
  return most;
}

}  // namespace

Json kit_json(const KitReport& report) {
  Json out{{"schema", "maskctl.kit/1"},
           {"library", report.library},
           {"dtype", name(report.dtype)},
           {"version", MASKCTL_VERSION},
           {"seconds", report.seconds}};
  out["counts"] = {{"cases", report.cases.size()},
                   {"obeys", report.count(kit::Outcome::kObeys)},
                   {"another", report.count(kit::Outcome::kAnother)},
                   {"wrong", report.count(kit::Outcome::kWrong)},
                   {"refuses", report.count(kit::Outcome::kRefuses)},
                   {"fails", report.count(kit::Outcome::kFails)},
                   {"timed_out", report.count(kit::Outcome::kTimedOut)},
                   {"undecided", report.count(kit::Outcome::kUndecided)},
                   {"skipped", report.count(kit::Outcome::kSkipped)}};
  if (report.baseline) {
    out["baseline"] = {{"file", report.baseline->file},
                       {"worse", report.count(kit::Change::kWorse)},
                       {"better", report.count(kit::Change::kBetter)},
                       {"notes", report.baseline->notes}};
  } else {
    out["baseline"] = nullptr;
  }
  out["rules"] = Json::array();
  for (const kit::Rule* const rule : kit::all_rules()) {
    const bool asked =
        std::ranges::find(report.cases, rule, &JudgedCase::rule) != report.cases.end();
    if (asked) out["rules"].push_back(rule_json(*rule));
  }
  out["cases"] = Json::array();
  for (const JudgedCase& one : report.cases) {
    const auto before = report.before(one);
    out["cases"].push_back({{"id", one.id},
                            {"rule", one.rule->id},
                            {"outcome", name(one.verdict.outcome)},
                            {"text", one.verdict.text},
                            {"note", one.verdict.note},
                            {"before", before ? Json(name(before->outcome)) : Json(nullptr)},
                            {"seconds", one.seconds}});
  }
  return out;
}

Json kit_manifest_json(DType dtype) {
  return {{"schema", "maskctl.kit-cases/1"},
          {"dtype", name(dtype)},
          {"tolerance",
           {{"unit", epsilon(dtype) / 2},
            {"result", kit::kResult},
            {"terms", kit::kTerms},
            {"sums", kit::kSums}}}};
}

Json kit_case_json(const kit::MadeCase& made) {
  const kit::Call& call = made.call();
  Json out{{"id", made.id},
           {"rule", made.rule->id},
           {"says", made.rule->says},
           {"asks", name(made.rule->asks)},
           {"steps", made.source->steps},
           {"depth", depth_of(made.mask)},
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
