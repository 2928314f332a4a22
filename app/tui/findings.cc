#include "app/tui/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "app/session/elsewhere.h"
#include "maskctl/base/grouped.h"
#include "maskctl/base/ranges.h"
#include "maskctl/base/text.h"
#include "maskctl/base/work_scope.h"
#include "maskctl/inspect/recognise/recognise.h"

namespace maskctl::app::tui {
namespace {

using ReportLines = std::vector<ReportLine>;

/// So many regions, cells and documents are listed.
constexpr std::size_t kMostListed = 256;

std::string span_text(std::string_view one, std::string_view many, Range range) {
  return range_words(range, one, many);
}

std::string more_text(Index rest, std::string_view one) {
  return fmt::format("  and {}", counted(rest, fmt::format("more {}", one)));
}

/// The cell of a finding, if it is about one or a row; its first, where only a plane is known.
std::optional<Cell> cell_of(const Location& where) {
  if (!where.batch && !where.head && !where.query && !where.key) return std::nullopt;
  return Cell{where.batch.value_or(0), where.head.value_or(0), where.query.value_or(0),
              where.key.value_or(0)};
}

void add_pairs(const Scene& scene, const Leaks& leaks, ReportLines& out) {
  const std::size_t listed = std::min(leaks.pairs.size(), kMostListed);
  for (std::size_t i = 0; i < listed; ++i) {
    const DocumentPair& pair = leaks.pairs[i];
    const std::string plane = scene.mask.batch() > 1 ? fmt::format("batch {}: ", pair.batch) : "";
    out.push_back({fmt::format("    {}document {} sees document {}: {}", plane, pair.q, pair.kv,
                               counted(pair.count, "cell")),
                   pair.first, Target::kLeak});
  }
  const Index rest = leaks.pair_count - static_cast<Index>(listed);
  if (rest > 0) out.push_back({more_text(rest, "pair")});
}

void add_check(const Scene& scene, ReportLines& out) {
  MaskLint lint = lint_of(scene);
  std::ranges::stable_sort(lint.findings, {}, [](const Finding& f) { return f.rule->severity; });
  out.push_back({fmt::format("check: {}", counted(std::ssize(lint.findings), "finding"))});
  for (const Finding& finding : lint.findings) {
    const bool leak = finding.rule->id == "document-leak";
    out.push_back({fmt::format("  {}: {}", name(finding.rule->severity), finding.message),
                   cell_of(finding.where), leak ? std::optional(Target::kLeak) : std::nullopt});
    if (leak && lint.leaks) add_pairs(scene, *lint.leaks, out);
  }
  if (!scene.has_ids())
    out.push_back(
        {"leaks: no documents known; :segments FILE, :positions FILE or :cu-seqlens FILE reads "
         "them"});
}

void add_differences(const Scene& scene, ReportLines& out) {
  if (!scene.other) return;
  const PlaneTable& planes = *scene.planes;
  Index regions = 0, cells = 0;
  ReportLines listed;
  for (Index i = 0; i < planes.size(); ++i) {
    const PlaneRow& row = planes[i];
    cells += row.finds.differences.count;
    if (!planes.is_first(i)) continue;
    for (const Region& region : row.finds.differences.list()) {
      ++regions;
      if (listed.size() == kMostListed) continue;
      std::string where = plane_text(scene.mask, row.batch, row.head);
      if (!where.empty()) where += ": ";
      listed.push_back(
          {fmt::format("  {}{}, {}: {}", where, span_text("query", "queries", region.queries),
                       span_text("key", "keys", region.keys), counted(region.cells, "cell")),
           Cell{row.batch, row.head, region.first.query, region.first.key}, Target::kDifference});
    }
  }
  out.push_back(
      {fmt::format("differences: {} in {}", counted(cells, "cell"), counted(regions, "region"))});
  out.insert(out.end(), listed.begin(), listed.end());
  if (regions > std::ssize(listed)) {
    out.push_back({more_text(regions - std::ssize(listed), "region")});
  }
}

void add_residue(const Scene& scene, ReportLines& out) {
  const Recognised found = recognise(scene.mask);
  out.push_back({fmt::format("recognised: {}",
                             found.chain.empty() ? "every cell open" : to_text(found.chain))});
  if (found.residue.cells == 0) return;
  out.push_back({fmt::format("  not explained: {}", counted(found.residue.cells, "cell"))});
  for (const Cell& cell : found.residue.first) {
    out.push_back({"    " + cell_text(cell), cell});
  }
  const Index rest = found.residue.cells - std::ssize(found.residue.first);
  if (rest > 0) out.push_back({"  " + more_text(rest, "cell")});
}

/// A stretch of tokens of one document.
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

MaskLint lint_of(const Scene& scene) {
  const auto documents = [&scene](const Mask&) {
    return scene.has_ids() ? std::optional(Documents{*scene.ids.q, *scene.ids.k, scene.pad_id})
                           : std::nullopt;
  };
  return lint_steps_and_mask(scene.start, scene.chain, {documents, true});
}

std::vector<ReportLine> findings_lines(const Scene& scene) {
  ReportLines out;
  if (scene.planes) scene.planes->fill(scene);
  add_check(scene, out);
  if (scene.planes) add_differences(scene, out);
  throw_if_stopped();
  add_residue(scene, out);
  return out;
}

std::vector<ReportLine> documents_lines(const Scene& scene) {
  if (!scene.has_ids())
    return {{"no documents known; :segments FILE, :positions FILE or :cu-seqlens FILE reads them"}};
  const Leaks found = leaks(scene.mask, {*scene.ids.q, *scene.ids.k, scene.pad_id});
  std::map<std::pair<Index, std::int32_t>, Index> leaks_of;  // cells that a document sees of others
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
