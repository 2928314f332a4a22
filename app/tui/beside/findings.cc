#include "app/tui/beside/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "app/session/elsewhere.h"
#include "maskctl/base/grouped.h"
#include "maskctl/base/ranges.h"
#include "maskctl/base/text.h"
#include "maskctl/base/work_scope.h"
#include "maskctl/inspect/check/check.h"
#include "maskctl/inspect/recognise/recognise.h"
#include "maskctl/inspect/why/why.h"
#include "maskctl/mask/documents.h"
#include "maskctl/mask/steps/chain_text.h"

namespace maskctl::app::tui {
namespace {

using ReportLines = std::vector<ReportLine>;

/// Collects lines with at most one line per cell: a second finding about a cell is appended to the
/// first one's line.
class FindingLines {
 public:
  void add(ReportLine line) { lines_.push_back(std::move(line)); }
  /// Adds a line about a cell. If there is a line for the cell already, appends `more` to that.
  void add_at(const Cell& cell, ReportLine line, std::string_view more) {
    const auto known = line_to(cell);
    if (known != lines_.end()) {
      known->text += fmt::format("; {}", more);
    } else {
      line.cell = cell;
      add(std::move(line));
    }
  }
  bool leads_to(const Cell& cell) { return line_to(cell) != lines_.end(); }
  ReportLines take() { return std::move(lines_); }

 private:
  ReportLines::iterator line_to(const Cell& cell) {
    return std::ranges::find(lines_, std::optional(cell), &ReportLine::cell);
  }

  ReportLines lines_;
};

/// The largest number of regions, cells or documents that are listed.
constexpr std::size_t kMostListed = 256;

std::string span_text(std::string_view one, std::string_view many, Range range) {
  return range_words(range, one, many);
}

std::string more_text(Index rest, std::string_view one) {
  return fmt::format("  and {}", counted(rest, fmt::format("more {}", one)));
}

/// Returns the cell to which a finding leads: for a finding about a row or a plane, the first cell
/// of the row or plane; nothing for a finding about the whole mask.
std::optional<Cell> cell_of(const Location& where) {
  if (!where.batch && !where.head && !where.query && !where.key) return std::nullopt;
  return Cell{where.batch.value_or(0), where.head.value_or(0), where.query.value_or(0),
              where.key.value_or(0)};
}

/// For example "batch 27: document 2 sees document 1".
std::string pair_text(const Scene& scene, const DocumentPair& pair) {
  const std::string plane = scene.mask.batch() > 1 ? fmt::format("batch {}: ", pair.batch) : "";
  return fmt::format("{}document {} sees document {}", plane, pair.q, pair.kv);
}

/// Adds the leaks. If they are all between one pair of documents, `finding` names the pair; else
/// each pair gets its own line.
void add_leaks(const Scene& scene, const std::string& finding, const Leaks& leaks,
               FindingLines& out) {
  if (leaks.pairs.empty()) return out.add({finding, leaks.first, Target::kLeak});
  if (leaks.pair_count == 1) {
    const DocumentPair& pair = leaks.pairs.front();
    const std::string text = fmt::format("{}: {}", finding, pair_text(scene, pair));
    return out.add_at(pair.first, {text, {}, Target::kLeak}, text);
  }
  out.add({finding});
  const std::size_t listed = std::min(leaks.pairs.size(), kMostListed);
  for (std::size_t i = 0; i < listed; ++i) {
    const DocumentPair& pair = leaks.pairs[i];
    const std::string text =
        fmt::format("{}: {}", pair_text(scene, pair), counted(pair.count, "cell"));
    out.add_at(pair.first, {"    " + text, {}, Target::kLeak}, text);
  }
  const Index rest = leaks.pair_count - static_cast<Index>(listed);
  if (rest > 0) out.add({more_text(rest, "pair")});
}

void add_check(const Scene& scene, FindingLines& out) {
  const CheckResult found = check(scene.checked);
  out.add({fmt::format("check: {}", counted(std::ssize(found.findings), "finding"))});
  for (const Finding& finding : found.findings) {
    const std::string text = fmt::format("  {}: {}", name(finding.rule->severity), finding.message);
    const auto cell = cell_of(finding.where);
    if (finding.rule->key == FindingId::kDocumentLeak && found.leaks) {
      add_leaks(scene, text, *found.leaks, out);
    } else if (finding.where.query && finding.where.key) {
      out.add_at(*cell, {text}, finding.message);
    } else {
      out.add({text, cell});
    }
  }
  if (std::ranges::count(found.not_looked_at, NotLookedAt::kDocuments) > 0)
    out.add(
        {"leaks: no documents known; :segments FILE, :positions FILE or :cu-seqlens FILE reads "
         "them"});
}

void add_differences(const Scene& scene, FindingLines& out) {
  if (!scene.other) return;
  const PlaneTable& planes = *scene.planes;
  struct Place {
    const PlaneRow* row;
    const Region* region;
  };
  Index regions = 0, cells = 0;
  std::vector<Place> listed;
  for (Index i = 0; i < planes.size(); ++i) {
    const PlaneRow& row = planes[i];
    cells += row.finds.differences.count;
    if (!planes.is_first(i)) continue;
    for (const Region& region : row.finds.differences.list()) {
      ++regions;
      if (listed.size() < kMostListed) listed.push_back({&row, &region});
    }
  }
  out.add(
      {fmt::format("differences: {} in {}", counted(cells, "cell"), counted(regions, "region"))});
  for (const auto& [row, region] : listed) {
    std::string where = plane_text(scene.mask, row->batch, row->head);
    if (!where.empty()) where += ": ";
    const std::string count = counted(region->cells, "cell");
    out.add_at({row->batch, row->head, region->first.query, region->first.key},
               {fmt::format("  {}{}, {}: {}", where, span_text("query", "queries", region->queries),
                            span_text("key", "keys", region->keys), count),
                {},
                Target::kDifference},
               fmt::format("A and B differ in {}", count));
  }
  if (regions > std::ssize(listed)) out.add({more_text(regions - std::ssize(listed), "region")});
}

bool is_leak(const Scene& scene, const Cell& cell) {
  if (!scene.has_ids()) return false;
  const Panel panel =
      panels_of(scene.mask, {cell.batch, cell.batch + 1}, {cell.head, cell.head + 1}, scene.ids)
          .front();
  const std::int32_t q = panel.q_segments[as_size(cell.query)];
  const std::int32_t k = panel.k_segments[as_size(cell.key)];
  return document_cell(q, k, scene.pad_id) == DocumentCell::kLeak && is_open(scene.mask, cell);
}

/// Adds the cells that the recognised pipeline does not explain, except leaks and cells that have a
/// line already.
void add_residue(const Scene& scene, FindingLines& out) {
  const auto [chain, residue, irregular] = without_guesses(recognise(scene.mask), scene.mask);
  out.add({fmt::format("recognised: {}", recognised_text(chain))});
  if (residue.cells == 0) return;
  std::vector<Cell> fresh;
  for (const Cell& cell : residue.first) {
    if (!out.leads_to(cell) && !is_leak(scene, cell)) fresh.push_back(cell);
  }
  const Index listed = std::ssize(residue.first), known = listed - std::ssize(fresh);
  std::string text = fmt::format("  not explained: {}", counted(residue.cells, "cell"));
  if (known == residue.cells) {
    text += ", found above";
  } else if (known > 0) {
    text += fmt::format(", {} of the first {} found above", known, listed);
  }
  out.add({text});
  for (const Cell& cell : fresh) out.add({"    " + cell_text(cell), cell});
  const Index rest = residue.cells - listed;
  if (rest > 0) out.add({"  " + more_text(rest, "cell")});
}

/// A range of adjacent tokens of one document.
struct Stretch {
  std::int32_t id = 0;
  Range tokens;
};

std::vector<Stretch> stretches(std::span<const std::int32_t> ids) {
  std::vector<Stretch> out;
  for (Index i = 0; i < std::ssize(ids); ++i) {
    if (out.empty() || out.back().id != ids[as_size(i)]) out.push_back({ids[as_size(i)], {i, i}});
    out.back().tokens.end = i + 1;
  }
  return out;
}

}  // namespace

std::string recognised_text(const Chain& chain) {
  if (chain.empty()) return "every cell open";
  ArrayNames arrays([](const std::string& name) { return "recognised.npz:" + name; });
  Chain named = chain;
  arrays.name(named);
  const std::string text = to_text(named);
  return arrays.arrays().empty() ? text : text + "; maskctl recognise --write saves its arrays";
}

std::vector<ReportLine> findings_lines(const Scene& scene) {
  FindingLines out;
  if (scene.planes) scene.planes->fill(scene);
  add_check(scene, out);
  if (scene.planes) add_differences(scene, out);
  throw_if_stopped();
  add_residue(scene, out);
  return out.take();
}

std::vector<ReportLine> documents_lines(const Scene& scene) {
  if (!scene.has_ids())
    return {{"no documents known; :segments FILE, :positions FILE or :cu-seqlens FILE reads them"}};
  const Leaks found = leaks(scene.mask, {*scene.ids.q, *scene.ids.k, scene.pad_id});
  // (batch, document) -> number of its leaks.
  std::map<std::pair<Index, std::int32_t>, Index> leaks_of;
  for (const DocumentPair& pair : found.pairs) leaks_of[{pair.batch, pair.q}] += pair.count;
  ReportLines out;
  Index all = 0;
  for (Index batch = 0; batch < scene.ids.q->extent(0); ++batch) {
    for (const Stretch& stretch : stretches(ids_of_batch(*scene.ids.q, batch))) {
      ++all;
      if (out.size() == kMostListed) continue;
      const std::string plane = scene.ids.q->extent(0) > 1 ? fmt::format("batch {}: ", batch) : "";
      const std::string name =
          stretch.id == scene.pad_id ? "padding" : fmt::format("document {}", stretch.id);
      const auto leaked = leaks_of.find({batch, stretch.id});
      out.push_back(
          {fmt::format("{}{}: {}, {}{}", plane, name, counted(stretch.tokens.size(), "token"),
                       span_text("query", "queries", stretch.tokens),
                       leaked == leaks_of.end()
                           ? ""
                           : fmt::format(", sees {} of others", counted(leaked->second, "cell"))),
           Cell{batch, 0, stretch.tokens.begin, 0}});
    }
  }
  if (all > std::ssize(out)) out.push_back({more_text(all - std::ssize(out), "stretch")});
  return out;
}

}  // namespace maskctl::app::tui
