#include "app/cli/json_explain.h"

#include "app/cli/json_parts.h"

namespace maskctl::app {
namespace {

Json json_of(const Cell& cell) {
  return {{"batch", cell.batch}, {"head", cell.head}, {"query", cell.query}, {"key", cell.key}};
}

}  // namespace

std::string why_json(const std::string& source, const Why& why) {
  Json out{{"schema", "maskctl.why/1"},          {"source", source},
           {"cell", json_of(why.cell)},          {"open", why.open},
           {"source_cell", json_of(why.source)}, {"source_open", why.source_open}};
  out["decided_by"] = why.decided_by ? Json(*why.decided_by) : Json(nullptr);
  out["steps"] = Json::array();
  for (const WhyStep& step : why.steps) {
    out["steps"].push_back({{"step", step.text},
                            {"depth", step.depth},
                            {"before", step.before},
                            {"after", step.after},
                            {"cell", json_of(step.from)},
                            {"reason", step.reason}});
  }
  return text_of(out);
}

std::string translate_json(const std::vector<TranslateReport>& reports) {
  Json out{{"schema", "maskctl.translate/1"}};
  out["masks"] = Json::array();
  for (const TranslateReport& report : reports) {
    Json mask{{"layers", report.layers.empty() ? Json(nullptr) : Json(report.layers)},
              {"pipeline", report.pipeline},
              {"meaning", report.meaning}};
    mask["libraries"] = Json::array();
    for (const Translation& one : report.translations) {
      const LibraryInfo& info = info_of(one.library);
      mask["libraries"].push_back({{"name", info.name},
                                   {"ok", one.ok()},
                                   {"code", one.code},
                                   {"refusal", one.ok() ? Json(nullptr) : Json(one.refusal)},
                                   {"notes", one.notes},
                                   {"empty_row", info.empty_row}});
    }
    out["masks"].push_back(std::move(mask));
  }
  return text_of(out);
}

}  // namespace maskctl::app
