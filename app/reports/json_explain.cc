#include "app/reports/json_explain.h"

#include "app/reports/json_parts.h"

namespace maskctl::app {

Json why_json(const std::string& source, const Why& why,
              const std::optional<CellDocuments>& documents) {
  Json out{{"schema", "maskctl.why/1"},          {"source", source},
           {"cell", json_of(why.cell)},          {"open", why.open},
           {"source_cell", json_of(why.source)}, {"source_open", why.source_open},
           {"documents", json_of(documents)}};
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
  return out;
}

Json audit_json(const std::string& source, const std::string& map, const Mask& mask,
                const BlockAudit& audit) {
  const Json out{{"schema", "maskctl.audit/1"},
                 {"source", source},
                 {"map", map},
                 {"shape", extents(mask)},
                 {"block", {{"q", audit.size.q}, {"k", audit.size.k}}},
                 {"open", audit.open},
                 {"blocks", audit.blocks},
                 {"kept", audit.kept},
                 {"dropped",
                  {{"cells", audit.dropped},
                   {"share", ratio(audit.dropped, audit.open)},
                   {"blocks", audit.dropped_blocks},
                   {"rows", audit.dropped_rows},
                   {"rows_that_lose_key_0", audit.first_key_rows},
                   {"first", json_of(audit.first_dropped)}}},
                 {"leaked",
                  {{"cells", audit.leaked},
                   {"blocks", audit.wrong_full},
                   {"first", json_of(audit.first_leaked)}}},
                 {"wasted", audit.wasted}};
  return out;
}

namespace {

std::vector<std::string> names_of(const std::vector<Translation::Array>& arrays) {
  std::vector<std::string> out;
  for (const Translation::Array& array : arrays) out.push_back(array.name);
  return out;
}

}  // namespace

std::string argument_of(const WindowConvention& row, Index w) {
  std::string out(row.parameter);
  for (std::size_t at = 0; (at = out.find('W', at)) != out.npos; ++at) {
    out.replace(at, 1, std::to_string(w));
  }
  return out;
}

Index keys_of_window(const WindowConvention& row, Index w) {
  const auto window = window_of(row.rule, w);
  return *window.left + *window.right + 1;
}

Json windows_json(Index w) {
  Json out{{"schema", "maskctl.translate-table/1"}, {"window", w}};
  out["windows"] = Json::array();
  for (const WindowConvention& row : window_conventions()) {
    out["windows"].push_back({{"keys", keys_of_window(row, w)},
                              {"library", row.api},
                              {"argument", argument_of(row, w)},
                              {"source", row.source}});
  }
  return out;
}

namespace {

Json aligns(Align align) {
  if (align == Align::kUnset) return nullptr;
  return align == Align::kTopLeft ? "top-left" : "bottom-right";
}

}  // namespace

Json conventions_json() {
  Json out{{"schema", "maskctl.translate-table/1"}, {"calls", Json::array()}};
  for (const Library* library : libraries()) {
    for (const Convention& row : library->calls) {
      Json call{{"library", library->name},
                {"call", row.call},
                {"align", aligns(row.align)},
                {"causal", row.causal},
                {"documents", row.documents}};
      call["arguments"] = Json::array();
      for (const Argument& argument : row.arguments) {
        if (argument.meaning == ArgumentMeaning::kNothing) continue;
        call["arguments"].push_back({{"name", argument.name},
                                     {"meaning", meaning(argument.meaning)},
                                     {"default", argument.fallback}});
      }
      call["overrides"] = row.overrides;
      call["source"] = row.source;
      out["calls"].push_back(std::move(call));
    }
  }
  return out;
}

Json translate_json(const std::vector<TranslateReport>& reports) {
  Json out{{"schema", "maskctl.translate/1"}};
  out["masks"] = Json::array();
  for (const TranslateReport& report : reports) {
    Json mask{{"layers", report.layers.empty() ? Json(nullptr) : Json(report.layers)},
              {"pipeline", report.pipeline ? Json(*report.pipeline) : Json(nullptr)},
              {"meaning", report.meaning}};
    mask["libraries"] = Json::array();
    for (const Translation& one : report.translations) {
      mask["libraries"].push_back({{"name", one.library->name},
                                   {"ok", one.ok()},
                                   {"code", one.code},
                                   {"arrays", names_of(one.arrays)},
                                   {"refusal", one.ok() ? Json(nullptr) : Json(one.refusal)},
                                   {"notes", one.notes},
                                   {"empty_row", one.empty_row}});
    }
    out["masks"].push_back(std::move(mask));
  }
  return out;
}

}  // namespace maskctl::app
