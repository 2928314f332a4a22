#include "app/reports/captured_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/reports/cause_text.h"
#include "app/reports/json_parts.h"
#include "app/reports/layers_text.h"
#include "maskctl/base/grouped.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/text.h"
#include "maskctl/mask/cell.h"

namespace maskctl::app {
namespace {

std::string names(const std::vector<std::string>& layers) {
  return printable(layers_text(layers), kUncut);
}

/// The layers of each text, in the order in which they come first.
std::vector<std::pair<std::string, std::vector<std::string>>> by_text(
    const std::vector<LayerNote>& notes) {
  std::vector<std::pair<std::string, std::vector<std::string>>> out;
  for (const LayerNote& note : notes) {
    const auto known =
        std::ranges::find(out, note.text, &std::pair<std::string, std::vector<std::string>>::first);
    if (known == out.end()) {
      out.push_back({note.text, {note.layer}});
    } else {
      known->second.push_back(note.layer);
    }
  }
  return out;
}

/// Calls visit() for each difference with its cause, or with null where none is known.
template <typename Visit>
void each_difference(const CapturedReport& report, const Visit& visit) {
  std::size_t next = 0;
  for (const CapturedDifference& one : report.diff.differences) {
    visit(one, one.cause ? &report.causes[next++] : nullptr);
  }
}

std::string difference_text(const CapturedDifference& one, const CauseReport* cause, bool all) {
  std::string out = fmt::format("layers  {}\n", names(one.layers));
  out += fmt::format("first   {}: open in {} only\n", cell_text(one.first()),
                     one.diff.first_in_a ? "A" : "B");
  out += fmt::format("cells   {} only in A, {} only in B, {} in both, of queries {}-{}\n",
                     grouped(one.diff.only_a), grouped(one.diff.only_b), grouped(one.diff.both),
                     one.begin, one.begin + one.a.queries() - 1);
  if (cause) out += cause_text(*cause, all);
  if (!one.no_cause.empty()) out += fmt::format("cause   none found: {}\n", one.no_cause);
  if (one.begin > 0) out += fmt::format("        where query 0 is query {}\n", one.begin);
  return out;
}

std::string answer_text(const CapturedDiff& diff) {
  const std::string same =
      diff.equal.empty()
          ? ""
          : fmt::format("equal   {}: {} in both\n", names(diff.equal),
                        diff.equal.size() == 1 ? "the same mask" : "each has the same mask");
  switch (diff.answer()) {
    case CapturedDiff::Answer::kDiffer:
      return same;
    case CapturedDiff::Answer::kUnknown:
      return same + "nothing that was compared differs\n";
    case CapturedDiff::Answer::kEqual:
      break;
  }
  return same +
         "equal: both masks of each layer; what else differs is rounding, weights or inputs\n";
}

Json json_of(const CapturedDifference& one, const CauseReport* cause) {
  const Cell at = one.first();
  Json out{{"layers", one.layers}, {"begin", one.begin},        {"queries", one.a.queries()},
           {"keys", one.a.keys()}, {"only_a", one.diff.only_a}, {"only_b", one.diff.only_b},
           {"both", one.diff.both}};
  out["first"] = {{"batch", at.batch},
                  {"head", at.head},
                  {"query", at.query},
                  {"key", at.key},
                  {"open_in", one.diff.first_in_a ? "a" : "b"}};
  out["cause"] = cause ? cause_json(*cause) : Json(nullptr);
  out["no_cause"] = one.no_cause.empty() ? Json(nullptr) : Json(one.no_cause);
  return out;
}

const char* name_of(CapturedDiff::Answer answer) {
  switch (answer) {
    case CapturedDiff::Answer::kEqual:
      return "equal";
    case CapturedDiff::Answer::kDiffer:
      return "differ";
    case CapturedDiff::Answer::kUnknown:
      break;
  }
  return "unknown";
}

}  // namespace

std::string captured_text(const CapturedReport& report, bool all) {
  const CapturedDiff& diff = report.diff;
  std::string out = fmt::format("A       {}: {}\nB       {}: {}\n", printable(report.a, kUncut),
                                counted(report.layers_a, "layer"), printable(report.b, kUncut),
                                counted(report.layers_b, "layer"));
  each_difference(report, [&](const CapturedDifference& one, const CauseReport* cause) {
    out += difference_text(one, cause, all);
  });
  if (!diff.only_a.empty()) out += fmt::format("only A  {}\n", names(diff.only_a));
  if (!diff.only_b.empty()) out += fmt::format("only B  {}\n", names(diff.only_b));
  for (const auto& [text, layers] : by_text(diff.uncompared)) {
    out += fmt::format("note    {} {} not compared: {}\n", names(layers),
                       layers.size() == 1 ? "was" : "were", printable(text, kUncut));
  }
  for (const auto& [text, layers] : by_text(diff.notes)) {
    out += fmt::format("note    {}: {}\n", names(layers), printable(text, kUncut));
  }
  if (diff.by_last_tokens) {
    out += "note    fewer queries than keys are taken for the last tokens\n";
  }
  return out + answer_text(diff);
}

Json captured_json(const CapturedReport& report) {
  const CapturedDiff& diff = report.diff;
  Json out{{"schema", "maskctl.diff-runs/1"},
           {"a", {{"source", report.a}, {"layers", report.layers_a}}},
           {"b", {{"source", report.b}, {"layers", report.layers_b}}},
           {"answer", name_of(diff.answer())},
           {"equal", diff.equal},
           {"only_a", diff.only_a},
           {"only_b", diff.only_b},
           {"by_last_tokens", diff.by_last_tokens}};
  out["differences"] = Json::array();
  each_difference(report, [&](const CapturedDifference& one, const CauseReport* cause) {
    out["differences"].push_back(json_of(one, cause));
  });
  out["uncompared"] = Json::array();
  for (const LayerNote& one : diff.uncompared) {
    out["uncompared"].push_back({{"layer", one.layer}, {"why", one.text}});
  }
  out["notes"] = Json::array();
  for (const LayerNote& one : diff.notes) {
    out["notes"].push_back({{"layer", one.layer}, {"text", one.text}});
  }
  return out;
}

}  // namespace maskctl::app
