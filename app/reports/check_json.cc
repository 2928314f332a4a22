// The JSON and SARIF forms of check.
#include <algorithm>
#include <map>

#include "app/reports/check_report.h"
#include "app/reports/json_parts.h"
#include "app/reports/remedies.h"
#include "maskctl/io/array_io.h"
#include "maskctl/pipeline/steps/generate.h"

namespace maskctl::app {
namespace {

Json json_of(const Location& where) {
  Json out = Json::object();
  const auto add = [&out](const char* key, const std::optional<Index>& value) {
    if (value) out[key] = *value;
  };
  add("step", where.step);
  add("batch", where.batch);
  add("head", where.head);
  add("query", where.query);
  add("key", where.key);
  add("entry", where.entry);
  return out;
}

Json place_or_null(const std::optional<Cell>& cell) {
  return cell ? json_of(where_of(*cell)) : Json(nullptr);
}

Json json_of(const Leaks& leaks) {
  Json out{{"cross", leaks.cross},
           {"padding_queries", leaks.padding_queries},
           {"padding_keys", leaks.padding_keys},
           {"first", place_or_null(leaks.first)},
           {"pair_count", leaks.pair_count},
           {"pairs_complete", leaks.pairs_complete}};
  out["pairs"] = Json::array();
  for (const DocumentPair& pair : leaks.pairs) {
    out["pairs"].push_back({{"batch", pair.batch},
                            {"query_document", pair.q},
                            {"key_document", pair.kv},
                            {"count", pair.count},
                            {"first", json_of(where_of(pair.first))}});
  }
  return out;
}

Json json_of(const ExpectationResult& expected) {
  Json out{{"text", expected.text},
           {"holds", expected.holds},
           {"count", expected.count},
           {"unit", expected.unit},
           {"first", place_or_null(expected.first)},
           {"detail", expected.detail}};
  out["leaks"] = expected.leaks ? json_of(*expected.leaks) : Json(nullptr);
  return out;
}

Json json_of(const Finding& finding) {
  return {{"id", finding.rule->id},     {"severity", name(finding.rule->severity)},
          {"message", finding.message}, {"where", json_of(finding.where)},
          {"count", finding.count},     {"claim", finding.rule->claim},
          {"why", finding.rule->why},   {"fix", fix_of(*finding.rule)}};
}

Json json_of(std::span<const NotLookedAt> parts) {
  Json out = Json::array();
  for (const NotLookedAt part : parts) {
    const Unseen words = unseen(part);
    out.push_back({{"what", words.what}, {"option", words.option}});
  }
  return out;
}

Json json_of(const FixedReport& report) {
  Json out{{"file", report.kind ? Json(report.file) : Json(nullptr)},
           {"kind", report.kind ? Json(name(*report.kind)) : Json(nullptr)},
           {"done", Json::array()},
           {"left", Json::array()}};
  const auto or_null = [](const std::optional<Index>& cells) {
    return cells ? Json(*cells) : Json(nullptr);
  };
  for (const FixDone& done : report.done) {
    out["done"].push_back({{"id", done.rule->id},
                           {"closed", or_null(done.closed)},
                           {"opened", or_null(done.opened)}});
  }
  for (const FixLeft& left : report.left) {
    out["left"].push_back({{"id", left.finding.rule->id}, {"why", left.why}});
  }
  out["gone"] = Json::array();
  for (const LintRule* gone : report.gone) out["gone"].push_back(gone->id);
  out["not_looked_at"] = json_of(report.not_looked_at);
  return out;
}

/// A relative URI of the file that a SOURCE names; empty for pipes and generated masks.
std::string uri_of(const std::string& source) {
  if (!names_one_source(source)) return "";
  const std::string path = parse_source_name(source).path;
  if (path == "-") return "";
  constexpr std::string_view kPlain = "-._~/";
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter || kPlain.find(c) != kPlain.npos) {
      out += c;
    } else {
      out += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return out;
}

/// SARIF artifacts that hold the text of pipelines, so that results can refer to a line: the SOURCE
/// is line 1, and each step has a line of its own.
class SarifPipelines {
 public:
  /// The SARIF location of a step, counted from 1; 0 is the SOURCE.
  Json location(const CheckReport& report, Index step) {
    return {{"artifactLocation", {{"index", index_of(report)}}},
            {"region", {{"startLine", step + 1}}}};
  }

  const Json& artifacts() const { return artifacts_; }
  bool empty() const { return known_.empty(); }

 private:
  Index index_of(const CheckReport& report) {
    std::string text = report.source + "\n";
    for (const std::string& step : report.steps) text += step + "\n";
    const auto [at, fresh] = known_.emplace(text, std::ssize(known_));
    if (fresh) {
      artifacts_.push_back({{"description", {{"text", "a SOURCE and the steps that follow"}}},
                            {"mimeType", "text/plain"},
                            {"contents", {{"text", text}}}});
    }
    return at->second;
  }

  std::map<std::string, Index> known_;  // maps the text of a pipeline to its index
  Json artifacts_ = Json::array();
};

Json sarif_file(const std::string& uri, const CheckReport& report, const Location& where) {
  Json region{{"startLine", 1}};
  if (const auto bytes = report.bytes ? report.bytes(where) : std::nullopt) {
    region["byteOffset"] = bytes->begin;
    region["byteLength"] = bytes->size();
  }
  return {{"artifactLocation", {{"uri", uri}}}, {"region", std::move(region)}};
}

/// The two locations of a SARIF result: the physical one says where to look (file or pipeline), the
/// logical one names the cell or entry.
Json sarif_location(const CheckReport& report, const Location& where, SarifPipelines& pipelines) {
  const std::string uri = uri_of(report.source);
  const std::string location = to_text(where);
  const std::string name = location.empty() ? report.source : report.source + ", " + location;
  return {{"physicalLocation", uri.empty() ? pipelines.location(report, where.step.value_or(0))
                                           : sarif_file(uri, report, where)},
          {"logicalLocations", Json::array({{{"fullyQualifiedName", name}}})}};
}

struct SarifResult {
  std::string_view rule, level;
  std::string message;
  Location where;
};

Json json_of(const SarifResult& result, const CheckReport& report, SarifPipelines& pipelines) {
  Json out{{"ruleId", result.rule},
           {"level", result.level},
           {"message", {{"text", result.message}}},
           {"locations", Json::array({sarif_location(report, result.where, pipelines)})}};
  if (result.where.step) {
    out["relatedLocations"] = Json::array(
        {{{"id", 1}, {"physicalLocation", pipelines.location(report, *result.where.step)}}});
  }
  return out;
}

Json sarif_rule(const LintRule& rule) {
  return {{"id", rule.id},
          {"shortDescription", {{"text", rule.summary}}},
          {"fullDescription", {{"text", rule.why}}},
          {"help", {{"text", fix_of(rule)}}},
          {"defaultConfiguration", {{"level", name(rule.severity)}}}};
}

/// A notification for each SOURCE that could not be read.
Json sarif_unread(std::span<const CheckReport> reports) {
  Json out = Json::array();
  for (const CheckReport& report : reports) {
    if (report.unread.empty()) continue;
    out.push_back({{"level", "error"}, {"message", {{"text", report.unread}}}});
  }
  return out;
}

std::vector<SarifResult> results_of(const CheckReport& report) {
  std::vector<SarifResult> out;
  for (const Finding& finding : report.found.findings) {
    const std::string location = to_text(finding.where);
    out.push_back({finding.rule->id, name(finding.rule->severity),
                   location.empty() ? finding.message : finding.message + " at " + location,
                   finding.where});
  }
  for (const ExpectationResult& expected : report.expected) {
    if (expected.holds) continue;
    out.push_back({"expectation", "error",
                   expected.text + " does not hold: " + counter_example(expected),
                   expected.first ? where_of(*expected.first) : Location{}});
  }
  return out;
}

}  // namespace

Json check_json(const CheckReport& report) {
  Json out{{"schema", "maskctl.check/1"}, {"source", report.source}};
  out["shape"] = report.shape ? Json(*report.shape) : Json(nullptr);
  out["ok"] = report.ok();
  out["expectations"] = Json::array();
  for (const ExpectationResult& expected : report.expected)
    out["expectations"].push_back(json_of(expected));
  out["findings"] = Json::array();
  for (const Finding& finding : report.found.findings) out["findings"].push_back(json_of(finding));
  out["leaks"] = report.found.leaks ? json_of(*report.found.leaks) : Json(nullptr);
  out["not_looked_at"] = json_of(report.found.not_looked_at);
  out["fixed"] = report.fixed ? json_of(*report.fixed) : Json(nullptr);
  return out;
}

std::string check_sarif(std::span<const CheckReport> reports) {
  const auto any = [&](const auto& holds) { return std::ranges::any_of(reports, holds); };
  Json driver{{"name", "maskctl"}, {"version", MASKCTL_VERSION}, {"rules", Json::array()}};
  for (const LintRule& rule : lint_rules()) {
    const auto found = [&rule](const CheckReport& report) {
      return std::ranges::any_of(report.found.findings,
                                 [&](const Finding& f) { return f.rule == &rule; });
    };
    if (any(found)) driver["rules"].push_back(sarif_rule(rule));
  }
  const auto violated = [](const CheckReport& report) {
    return !std::ranges::all_of(report.expected, &ExpectationResult::holds);
  };
  if (any(violated)) {
    driver["rules"].push_back({{"id", "expectation"},
                               {"shortDescription", {{"text", "an expectation does not hold"}}},
                               {"defaultConfiguration", {{"level", "error"}}}});
  }
  Json results = Json::array();
  SarifPipelines pipelines;
  for (const CheckReport& report : reports) {
    for (const SarifResult& result : results_of(report)) {
      results.push_back(json_of(result, report, pipelines));
    }
  }
  Json run{{"tool", {{"driver", std::move(driver)}}}};
  if (!pipelines.empty()) run["artifacts"] = pipelines.artifacts();
  if (any([](const CheckReport& report) { return !report.unread.empty(); })) {
    run["invocations"] = Json::array(
        {{{"executionSuccessful", false}, {"toolExecutionNotifications", sarif_unread(reports)}}});
  }
  run["results"] = std::move(results);
  return text_of({{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                  {"version", "2.1.0"},
                  {"runs", Json::array({std::move(run)})}});
}

}  // namespace maskctl::app
