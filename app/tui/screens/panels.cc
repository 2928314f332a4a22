#include "app/tui/screens/panels.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "app/tui/beside/report_rows.h"
#include "app/tui/beside/steps.h"
#include "app/tui/screens/words.h"
#include "app/tui/state/drawn.h"
#include "maskctl/base/grouped.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/ranges.h"
#include "maskctl/base/text.h"
#include "maskctl/pipeline/steps/step_infos.h"
#include "maskctl/render/figure/words.h"

namespace maskctl::app::tui {
namespace {

using Lines = std::vector<std::string>;

/// To list the queries that see a key, only queries this close to the cursor are examined. Planes
/// that compute their rows are limited to kMostComputed cells.
constexpr Index kNearQueries = 2048, kMostComputed = Index{1} << 19;
constexpr Index kTopKeys = 8, kBarColumns = 8;
constexpr Index kReportLines = 9;

bool open_at(const PlanePtr& plane, Place at) {
  return plane && plane->count({at.query, at.query + 1}, {at.key, at.key + 1}) > 0;
}

std::string id_text(std::int32_t id, std::int32_t pad_id) {
  return id == pad_id ? "padding" : std::to_string(id);
}

/// A list of ranges that fits into `width` characters, such as "4, 20-37". If some do not fit, it
/// ends with their number.
std::string runs_text(const std::vector<Run>& runs, Index width) {
  std::string out;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto [begin, end] = runs[i];
    const std::string run = range_text({begin, end});
    const std::string more = fmt::format(", {} more", runs.size() - i);
    if (std::ssize(out + run + more) > width) return out + more;
    out += (out.empty() ? "" : ", ") + run;
  }
  return out;
}

Index cells_of(const std::vector<Run>& runs) {
  Index cells = 0;
  for (const Run& run : runs) cells += run.end - run.begin;
  return cells;
}

/// Adds a line such as "query 37 sees 19 keys:", and a line that lists them.
void add_runs(const std::string& sees, const char* one, const char* many,
              const std::vector<Run>& runs, Lines& out) {
  const Index cells = cells_of(runs);
  out.push_back(fmt::format("{} {}{}", sees, counted(cells, one, many), runs.empty() ? "" : ":"));
  if (!runs.empty()) out.push_back("  " + runs_text(runs, kSideColumns - 6));
}

Range near_queries(const Plane& plane, Index query) {
  const Index most = std::min(kNearQueries, kMostComputed / plane.keys());
  const Index reach = plane.computed() ? most : kNearQueries;
  return intersect({query - reach, query + reach + 1}, {0, plane.queries()});
}

/// "key 4 is seen by", with the range of queries that were examined if that is not all of them.
std::string seen_text(Index key, Range queries, const Plane& plane) {
  if (queries.size() == plane.queries()) return fmt::format("key {} is seen by", key);
  return fmt::format("key {}, {}: seen by", key, range_words(queries, "query", "queries"));
}

std::string unit_text(const Plane& plane, Place at, BlockSize unit) {
  const Index q = at.query / unit.q * unit.q, k = at.key / unit.k * unit.k;
  const Range queries{q, std::min(q + unit.q, plane.queries())};
  const Range keys{k, std::min(k + unit.k, plane.keys())};
  return fmt::format("unit of {} x {}: {} open", unit.q, unit.k,
                     percent_text(plane.count(queries, keys), queries.size() * keys.size()));
}

Lines report_lines(const State& state, const Geometry&) {
  if (!state.report) return {};
  const ReportRow& row = report_row(state.report->kind);
  Lines out{std::string(row.title) + ":"};
  if (state.report->done && row.wide) return {};
  if (!state.report->done) return {out.front() + " working; <Esc> stops"};
  for (const ReportLine& line : state.report->lines) {
    const auto parts = wrapped(line.text, kSideColumns - 3);
    out.insert(out.end(), parts.begin(), parts.end());
  }
  if (std::ssize(out) > kReportLines) {
    out.resize(as_size(kReportLines - 1));
    out.emplace_back("...; the same key again: all of it");
  }
  return out;
}

/// Lists the keys that the query sees, and the queries that see the key.
void add_seen(std::string_view which, const Plane& plane, Place at, Lines& out) {
  add_runs(fmt::format("{}query {} sees", which, at.query), "key", "keys",
           row_runs(plane, at.query), out);
  const Range near = near_queries(plane, at.query);
  add_runs(fmt::format("{}{}", which, seen_text(at.key, near, plane)), "query", "queries",
           column_runs(plane, at.key, near), out);
}

std::string token_text(const std::shared_ptr<const TokenFile>& tokens, Index cell) {
  return tokens ? tokens->labels.texts[as_size(cell)] : "?";
}

Lines cell_lines(const State& state, const Geometry& geometry) {
  const Panel& panel = state.counts().panel;
  const Place at = state.view.cursor;
  Lines out{fmt::format("query {}, key {}: {}", at.query, at.key, cell_state(state))};
  if (!panel.q_segments.empty() && !panel.k_segments.empty()) {
    const std::int32_t pad = state.scene->pad_id;
    out.push_back(fmt::format("segments {}, {}", id_text(panel.q_segments[as_size(at.query)], pad),
                              id_text(panel.k_segments[as_size(at.key)], pad)));
  }
  const auto& [q_tokens, k_tokens] = state.scene->tokens;
  if (q_tokens || k_tokens) {
    out.push_back(
        fmt::format("tokens {}, {}", token_text(q_tokens, at.query), token_text(k_tokens, at.key)));
  }
  add_seen(panel.other ? "A: " : "", *panel.plane, at, out);
  if (panel.other) add_seen("B: ", *panel.other, at, out);
  const bool quick = state.counts().counted || !panel.plane->computed();
  if (quick && geometry.unit() != kOneElement)
    out.push_back(unit_text(*panel.plane, at, geometry.unit()));
  return out;
}

Lines why_lines(const State& state, const Geometry&) {
  if (state.scene->chain.empty() || state.view.sources == Sources::kB) return {};
  const Why why = state.scene->why(state.cell());
  const char* word = why.open ? "open" : "closed";
  if (!why.decided_by) return {fmt::format("{} in the source; no step changed it", word)};
  const WhyStep& step = why.steps[*why.decided_by];
  return {fmt::format("{} by {}:", why.open ? "opened" : "closed", printable(step.text)),
          step.reason};
}

Lines step_lines(const State& state, const Geometry&) {
  if (!state.step) return {};
  const EditStep step = split_steps(state.scene->pipeline)[as_size(*state.step)];
  Lines out{fmt::format("{}{}", step.text, step.on ? "" : " (off)")};
  const std::string name = step.text.substr(0, step.text.find_first_of(":{ "));
  if (const StepInfo* info = find_step(name)) out.emplace_back(info->meaning);
  return out;
}

Lines tile_lines(const State& state, const Geometry&) {
  if (!state.view.tiled) return {};
  const BlockSize tile = smallest_unit(state.view);
  const PlanePtr& plane = state.counts().panel.plane;
  Lines out{fmt::format("{} x {} cells each", tile.q, tile.k)};
  const TileCounts* counts = state.scene->tiles(plane, tile.q);
  if (!counts) return {out.front(), "counting ..."};
  const Index all = ceil_div(plane->queries(), tile.q) * ceil_div(plane->keys(), tile.k);
  const auto [full, partial] = *counts;
  const auto count = [&](const char* what, Index n) {
    return fmt::format("{} {} ({})", what, grouped(n), percent_text(n, all));
  };
  out.insert(out.end(), {count("full", full), count("partial", partial),
                         count("empty", all - full - partial)});
  if (state.counts().open > 0) {
    out.push_back(
        fmt::format("computed for each open cell: {:.2f}",
                    static_cast<double>(full + partial) * static_cast<double>(tile.q * tile.k) /
                        static_cast<double>(state.counts().open)));
  }
  return out;
}

/// The keys with the largest weights.
Lines weight_lines(const State& state, const Geometry&) {
  if (!state.view.weights) return {};
  const WeightRow& row =
      state.scene->weight_row(state.view.batch, state.view.cursor.query, state.view.sources);
  if (!row.problem.empty()) return {row.problem};
  const Index head = std::min(state.view.head, row.weights.extent(0) - 1);
  const auto weights = row.of(head);
  std::vector<Index> keys(weights.size());
  std::iota(keys.begin(), keys.end(), Index{0});
  const auto top = keys.begin() + std::min<Index>(kTopKeys, std::ssize(keys));
  std::ranges::partial_sort(keys, top, std::greater{},
                            [&](Index key) { return weights[as_size(key)]; });
  Lines out{fmt::format("query {}, head {}:", state.view.cursor.query, head)};
  for (auto key = keys.begin(); key != top && weights[as_size(*key)] > 0; ++key) {
    out.push_back(fmt::format("  key {}: {:.4f}", *key, weights[as_size(*key)]));
  }
  if (out.size() == 1) out.emplace_back("  sees no key");
  return out;
}

/// How many queries see how many keys, a bar for each bin.
Lines row_lines(const State& state, const Geometry&) {
  if (!state.rows) return {};
  if (!state.counts().counted) return {"counting ..."};
  const auto& bins = state.counts().row_sizes.bins;
  if (bins.empty()) return {};
  const Index most = std::ranges::max(bins, {}, &RowSizes::Bin::rows).rows;
  std::size_t keys = 0, rows = 0;
  for (const auto& bin : bins) {
    keys = std::max(keys, range_text(bin.keys).size());
    rows = std::max(rows, grouped(bin.rows).size());
  }
  Lines out;
  for (const auto& bin : bins) {
    std::string bar;
    for (Index i = 0; i < ceil_div(bin.rows * kBarColumns, most); ++i) {
      bar += state.screen.utf8 ? "█" : "#";
    }
    out.push_back(fmt::format("{:>{}} keys {:>{}} {}", range_text(bin.keys), keys,
                              grouped(bin.rows), rows, bar));
  }
  return out;
}

Lines legend_lines(const State& state, const Geometry& geometry) {
  InkGrid grid;
  grid.set =
      state.view.tiled ? InkSet::kTiles : ink_set(panel_of(state, geometry.panes.front().sources));
  grid.blocks = geometry.unit() != smallest_unit(state.view);
  grid.q_step = geometry.unit().q;
  grid.k_step = geometry.unit().k;
  UsedSigns used;
  const bool beside = state.view.sources == Sources::kBeside && !state.view.tiled;
  const PlaneFinds& finds = state.counts().finds;
  used.leak = beside ? finds.differences.count > 0
                     : state.counts().panel.documents.leaks && finds.leaks.count > 0;
  auto words = legend_words(grid, geometry.layout.options, used);
  if (beside) std::ranges::replace(words, "! leak", "! not in the other");
  return fill_lines(words, 2, kSideColumns - 3);
}

/// Adds a line such as "12 leaks in 3 planes not shown", which counts the planes that are known so
/// far.
void add_elsewhere(const State& state, Target target, std::string_view one, Lines& out) {
  const PlaneTable* planes = state.scene->planes.get();
  if (!planes) return;
  Index cells = 0, count = 0;
  for (Index i = 0; i < planes->known(); ++i) {
    const PlaneRow& row = (*planes)[i];
    const Index found = row.finds.of(target)->count;
    if (found == 0 || (row.batch == state.view.batch && row.head == state.view.head)) continue;
    cells += found;
    ++count;
  }
  if (count == 0) return;
  out.push_back(fmt::format("{} in {} not shown", counted(cells, one), counted(count, "plane")));
}

Lines head_lines(const State& state, const Geometry&) {
  const PlaneCounts& counts = state.counts();
  if (!counts.counted) return {"counting ..."};
  const Plane& plane = *counts.panel.plane;
  const auto open = [&plane](std::string_view which, Index cells) {
    return fmt::format("open {}{} ({})", which, grouped(cells),
                       percent_text(cells, plane.queries() * plane.keys()));
  };
  Lines out{open(counts.panel.other ? "in A " : "", counts.open)};
  if (counts.panel.other) out.push_back(open("in B ", counts.other_open));
  if (state.scene->has_ids()) {
    std::vector<std::string> words{fmt::format("leaks {}", grouped(counts.finds.leaks.count))};
    if (counts.padding > 0) {
      words.back() += ",";
      words.push_back(fmt::format("open padding {}", grouped(counts.padding)));
    }
    for (std::string& line : fill_lines(words, 1, kSideColumns - 3)) out.push_back(std::move(line));
  }
  if (counts.different)
    out.push_back(fmt::format("differences {}", grouped(counts.finds.differences.count)));
  if (counts.panel.other && counts.finds.differences.count > 0) {
    const Index only_a = (counts.finds.differences.count + counts.open - counts.other_open) / 2;
    out.push_back(fmt::format("  only A {}, only B {}", grouped(only_a),
                              grouped(counts.finds.differences.count - only_a)));
  }
  out.push_back(fmt::format("empty rows {}", grouped(counts.finds.empty_rows.count)));
  add_elsewhere(state, Target::kLeak, "leak", out);
  add_elsewhere(state, Target::kDifference, "difference", out);
  return out;
}

constexpr SidePanel kPanels[] = {
    {"Report", report_lines}, {"Step", step_lines}, {"Weights", weight_lines},
    {"Tiles", tile_lines},    {"Rows", row_lines},  {"Cell", cell_lines},
    {"Why", why_lines},       {"Head", head_lines}, {"Legend", legend_lines}};

}  // namespace

std::span<const SidePanel> side_panels() { return kPanels; }

std::string why_text(const State& state) {
  std::string out = cell_text(state.cell()) + ": ";
  const Lines why = why_lines(state, {});
  if (why.empty()) return out + cell_state(state);
  for (const std::string& line : why) out += (&line == why.data() ? "" : " ") + line;
  return out;
}

std::string cell_state(const State& state) {
  const Panel& panel = state.counts().panel;
  const Place at = state.view.cursor;
  const bool open = open_at(panel.plane, at);
  if (panel.other) {
    const bool other = open_at(panel.other, at);
    if (open != other) return open ? "only in A" : "only in B";
  }
  if (open_at(panel.documents.leaks, at)) return "open, a leak";
  return open ? "open" : "closed";
}

}  // namespace maskctl::app::tui
