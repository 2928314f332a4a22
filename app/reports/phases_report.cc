#include "app/reports/phases_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/reports/json_parts.h"
#include "maskctl/base/grouped.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/text.h"

namespace maskctl::app {
namespace {

const char* name(PhaseFault::Kind kind) {
  switch (kind) {
    case PhaseFault::Kind::kDropped:
      return "dropped";
    case PhaseFault::Kind::kClosed:
      return "closed";
    case PhaseFault::Kind::kExtra:
      return "extra";
    case PhaseFault::Kind::kEmpty:
      return "empty";
    case PhaseFault::Kind::kTwice:
      return "twice";
  }
  return "";
}

std::string fault_text(const PhaseFault& fault) {
  const PhaseStep& step = fault.step;
  std::string where = fault.number >= 0 ? fmt::format("step {}", grouped(fault.number))
                                        : fmt::format("after {}", counted(step.cached, "token"));
  if (fault.batch > 0) where += fmt::format(", batch {}", fault.batch);
  if (fault.head > 0) where += fmt::format(", head {}", fault.head);
  if (step.taken_back > 0) where += fmt::format(" and {} taken back", grouped(step.taken_back));
  const std::string queries = counted(step.queries, "query", "queries");
  if (step.cached + fault.row == fault.query || fault.number >= 0) {
    return fmt::format("{}, in a step of {}, query {}: {}", where, queries, grouped(fault.query),
                       fault.why);
  }
  return fmt::format("{}, in a step of {}, draft {} at position {}: {}", where, queries,
                     grouped(fault.row), grouped(fault.query), fault.why);
}

std::string ranks_text(const PartsVerdict& ranks) {
  return fmt::format("{} lost, {} too many, {} extra", grouped(ranks.lost), grouped(ranks.twice),
                     grouped(ranks.extra + ranks.no_token));
}

std::string phase_text(const PhaseResult& phase) {
  if (!phase.judged) return "not judged: " + phase.covered;
  if (phase.holds()) return "equal: " + phase.covered;
  if (phase.ranks) return fmt::format("differs: {}: {}", phase.covered, ranks_text(*phase.ranks));
  return fmt::format("differs: {} of the {} compared; first {}", grouped(phase.wrong),
                     counted(phase.rows, "row"), fault_text(*phase.first));
}

/// For which steps rows are equal, of all phases.
std::string equal_text(const PhasesVerdict& verdict) {
  std::vector<std::string> out;
  for (const PhaseResult& phase : verdict.phases) {
    if (phase.judged && phase.holds()) out.push_back(phase.covered);
  }
  return joined(out, "; ");
}

std::string entry_verdict(const PhasesVerdict& verdict) {
  const PhaseResult* first = verdict.first();
  if (first == nullptr) return "every phase that was judged has the rows of the mask";
  return fmt::format("{} has other rows than the mask", name_of(first->phase));
}

std::string report_verdict(const PhasesReport& report) {
  const auto wrong = std::ranges::count_if(
      report.entries, [](const PhasesEntry& one) { return !one.verdict.holds(); });
  if (report.entries.empty()) return "nothing was judged";
  if (wrong == 0) return "every phase that was judged has the rows of the mask";
  if (report.entries.size() == 1) return entry_verdict(report.entries.front().verdict);
  return fmt::format("{} of {} caches have a phase with other rows than the mask", wrong,
                     report.entries.size());
}

Json json_of(const PhaseFault& fault) {
  Json out{{"kind", name(fault.kind)}, {"text", fault_text(fault)}};
  out["step"] = fault.number < 0 ? Json(nullptr) : Json(fault.number);
  out["cached"] = fault.step.cached;
  out["queries"] = fault.step.queries;
  out["taken_back"] = fault.step.taken_back;
  out["batch"] = fault.batch;
  out["head"] = fault.head;
  out["row"] = fault.row;
  out["query"] = fault.query;
  out["key"] = fault.key < 0 ? Json(nullptr) : Json(fault.key);
  out["slot"] = fault.slot < 0 ? Json(nullptr) : Json(fault.slot);
  return out;
}

Json json_of(const PhaseResult& phase) {
  return {{"phase", name_of(phase.phase)},
          {"judged", phase.judged},
          {"equal", phase.judged ? Json(phase.holds()) : Json(nullptr)},
          {"covered", phase.covered},
          {"rows", phase.rows},
          {"wrong", phase.wrong},
          {"first", phase.first ? json_of(*phase.first) : Json(nullptr)},
          {"text", phase_text(phase)}};
}

std::string layers_served(const CacheRow& row) {
  std::vector<std::string> out;
  if (row.full) out.emplace_back("full");
  if (row.sliding) out.emplace_back("sliding");
  if (row.chunked) out.emplace_back("chunked");
  return joined(out, ", ");
}

/// What a cache keeps where a window is 4,096 tokens, a chunk 8,192, and there are four sinks.
std::string example_of(const CacheRow& row) {
  if (row.make == nullptr) return "not read";
  CacheSizes sizes;
  if (row.sliding) sizes.window = 4096;
  if (!row.sliding && row.chunked) sizes.chunk = 8192;
  if (row.full) sizes.window.reset();
  return cache_text(cache_of(row, sizes));
}

}  // namespace

bool PhasesReport::holds() const {
  return std::ranges::all_of(entries, [](const PhasesEntry& one) { return one.verdict.holds(); });
}

std::string phases_text(const PhasesReport& report) {
  std::string out;
  const std::string* layers = nullptr;
  for (const PhasesEntry& entry : report.entries) {
    if (!entry.layers.empty() && (layers == nullptr || *layers != entry.layers)) {
      out += fmt::format("{:<10}{}  {}\n", "layers", entry.layers, entry.pipeline);
    }
    layers = &entry.layers;
    if (!entry.cache.empty()) {
      out += fmt::format("{:<10}{}: {}\n", "cache", entry.cache, entry.keeps);
    }
    const std::string equal = equal_text(entry.verdict);
    if (!equal.empty()) out += fmt::format("{:<10}{}\n", "equal", equal);
    for (const PhaseResult& phase : entry.verdict.phases) {
      if (phase.judged && phase.holds()) continue;
      out += fmt::format("{:<10}{}\n", name_of(phase.phase), phase_text(phase));
    }
  }
  for (const std::string& note : report.notes) {
    out += fmt::format("{:<10}{}\n", "note", printable(note, kUncut));
  }
  return out + fmt::format("{:<10}{}\n", "verdict", report_verdict(report));
}

Json phases_json(const PhasesReport& report) {
  Json entries = Json::array();
  for (const PhasesEntry& entry : report.entries) {
    Json phases = Json::array();
    for (const PhaseResult& phase : entry.verdict.phases) phases.push_back(json_of(phase));
    const auto text = [](const std::string& one) {
      return one.empty() ? Json(nullptr) : Json(one);
    };
    entries.push_back({{"layers", text(entry.layers)},
                       {"pipeline", text(entry.pipeline)},
                       {"cache", text(entry.cache)},
                       {"keeps", text(entry.keeps)},
                       {"equal", entry.verdict.holds()},
                       {"text", entry_verdict(entry.verdict)},
                       {"phases", std::move(phases)}});
  }
  return {{"schema", "maskctl.phases/1"},
          {"source", report.source},
          {"tokens", report.tokens},
          {"equal", report.holds()},
          {"text", report_verdict(report)},
          {"notes", report.notes},
          {"caches", entries}};
}

std::string caches_text() {
  std::string out;
  for (const CacheRow* row : cache_rows()) {
    const std::string of = row->library.empty() ? "" : fmt::format(", {}", row->library);
    const std::string family = row->family.empty() ? "" : fmt::format(", one of {}", row->family);
    const std::string holder = row->holder.empty() ? "" : fmt::format(", in {}", row->holder);
    out += fmt::format("{}{}{}{}: layers {}\n", row->name, of, family, holder, layers_served(*row));
    out += fmt::format("  {}\n", example_of(*row));
    if (!row->source.empty()) out += fmt::format("  read: {}\n", row->source);
    if (!row->note.empty()) out += fmt::format("  note: {}\n", row->note);
  }
  return out;
}

Json caches_json() {
  Json rows = Json::array();
  for (const CacheRow* row : cache_rows()) {
    rows.push_back({{"name", row->name},
                    {"family", row->family},
                    {"holder", row->holder},
                    {"library", row->library},
                    {"layers", layers_served(*row)},
                    {"keeps", example_of(*row)},
                    {"read", row->make != nullptr},
                    {"source", row->source},
                    {"note", row->note}});
  }
  return {{"schema", "maskctl.phases-caches/1"}, {"caches", rows}};
}

}  // namespace maskctl::app
