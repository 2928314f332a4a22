#include "maskctl/render/figure/figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "maskctl/base/error.h"
#include "maskctl/base/ranges.h"
#include "maskctl/mask/documents.h"

namespace maskctl {
namespace {

using Heads = std::vector<Index>;

/// The name of a panel: the heads of each batch. Batches with the same heads are named together.
std::string group_name(const Mask& mask, const std::map<Index, Heads>& members) {
  std::map<Heads, std::vector<Index>> batches_of;
  for (const auto& [batch, heads] : members) batches_of[heads].push_back(batch);
  std::string out;
  for (const auto& [heads, batches] : batches_of) {
    if (!out.empty()) out += "; ";
    if (mask.batch() > 1) out += range_words(ranges_of(batches), "batch", "batches");
    if (mask.heads() == 1) continue;
    if (mask.batch() > 1) out += ", ";
    out += range_words(ranges_of(heads), "head");
  }
  return out;
}

std::span<const std::int32_t> row_of(const std::optional<Tensor>& ids, Index batch) {
  if (!ids) return {};
  const Index row = ids->extent(0) == 1 ? 0 : batch;
  if (row >= ids->extent(0)) {
    throw Error(Errc::kShape, fmt::format("segment ids of {} batches, but batch {} is drawn",
                                          ids->extent(0), batch));
  }
  const auto length = static_cast<std::size_t>(ids->extent(1));
  return ids->as<std::int32_t>().subspan(static_cast<std::size_t>(row) * length, length);
}

void check_members(const Mask& mask, const Mask& other) {
  const auto fits = [](Index count, Index wanted) { return count == 1 || count == wanted; };
  if (fits(other.batch(), mask.batch()) && fits(other.heads(), mask.heads())) return;
  throw Error(
      Errc::kShape,
      fmt::format("masks of the shapes {} and {}: a drawing of both needs equal batches and "
                  "heads, or one for all",
                  shape_text(mask), shape_text(other)));
}

void check_part(const char* what, Range part, Index extent) {
  if (part.begin < 0 || part.end > extent || part.begin > part.end) {
    throw Error(Errc::kInvalidArgument, fmt::format("{} {} to draw: expected a part of {}", what,
                                                    range_text(part), range_text({0, extent})));
  }
}

void check_whole_tiles(const char* what, Range part, Index tile, Index extent) {
  if (part.begin % tile == 0 && (part.end % tile == 0 || part.end == extent)) return;
  throw Error(Errc::kInvalidArgument, fmt::format("{} {} of tiles of {}: expected whole tiles",
                                                  what, range_text(part), tile));
}

Index queries_of(const Panel& panel) {
  return panel.tiles != nullptr ? panel.tiles->queries : panel.plane->queries();
}

Index keys_of(const Panel& panel) {
  return panel.tiles != nullptr ? panel.tiles->keys : panel.plane->keys();
}

void check_segments(const char* what, std::size_t ids, Index extent) {
  if (ids != 0 && ids != static_cast<std::size_t>(extent)) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("{} segment ids along {} {}: expected one each", ids, extent, what));
  }
}

void check_labels(const char* what, const AxisLabels* labels, Index extent) {
  if (labels != nullptr && std::ssize(labels->texts) != extent) {
    throw Error(Errc::kInvalidArgument, fmt::format("{} labels along {} {}: expected one each",
                                                    labels->texts.size(), extent, what));
  }
}

void check_extents(const Plane& plane, Index queries, Index keys) {
  if (plane.queries() == queries && plane.keys() == keys) return;
  throw Error(Errc::kShape,
              fmt::format("masks of {} queries x {} keys and {} x {}: a drawing of both needs "
                          "equal extents",
                          queries, keys, plane.queries(), plane.keys()));
}

/// The open cells of a panel by what they are in documents (see DocumentCell). Absent if queries or
/// keys have no segment ids, and for two masks.
std::optional<DocumentCells> document_cells_of(const Panel& panel, std::int32_t pad_id) {
  if (!panel.plane || panel.other || panel.q_segments.empty() || panel.k_segments.empty()) {
    return std::nullopt;
  }
  const auto row = [](std::span<const std::int32_t> ids) {
    Tensor out = Tensor::unwritten(DType::kInt32, {1, std::ssize(ids)});
    std::ranges::copy(ids, out.as<std::int32_t>().begin());
    return out;
  };
  return document_cells(Mask(panel.plane), {row(panel.q_segments), row(panel.k_segments), pad_id});
}

void check_panel(const Panel& panel, const Panel& first) {
  if (panel.tiles == nullptr && !panel.plane) {
    throw Error(Errc::kInvalidArgument, "nothing to draw: expected a mask or tiles");
  }
  if (tile_size_of(panel) && panel.other) {
    throw Error(Errc::kInvalidArgument, "tiles and a second mask in one drawing: expected one");
  }
  if (tile_size_of(panel).has_value() != tile_size_of(first).has_value() ||
      !panel.other != !first.other) {
    throw Error(Errc::kInvalidArgument,
                "masks, overlays and tiles in one figure: expected panels of one kind");
  }
  const Index queries = queries_of(first), keys = keys_of(first);
  if (panel.plane) check_extents(*panel.plane, queries, keys);
  if (panel.other) check_extents(*panel.other, queries, keys);
  check_segments("queries", panel.q_segments.size(), queries);
  check_segments("keys", panel.k_segments.size(), keys);
}

}  // namespace

std::vector<Panel> panels_of(const Mask& mask, Range batches, Range heads,
                             const SegmentTensors& ids, const Mask* other) {
  check_part("batches", batches, mask.batch());
  check_part("heads", heads, mask.heads());
  const auto all = [](Range range) {
    std::vector<Index> out(static_cast<std::size_t>(range.size()));
    std::iota(out.begin(), out.end(), range.begin);
    return out;
  };
  return panels_of(mask, all(batches), all(heads), ids, other);
}

std::vector<Panel> panels_of(const Mask& mask, std::span<const Index> batches,
                             std::span<const Index> heads, const SegmentTensors& ids,
                             const Mask* other) {
  for (const Index b : batches) check_part("batches", {b, b + 1}, mask.batch());
  for (const Index h : heads) check_part("heads", {h, h + 1}, mask.heads());
  if (other != nullptr) check_members(mask, *other);
  struct Group {
    Panel panel;
    std::map<Index, Heads> members;
  };
  std::vector<Group> groups;
  for (const Index b : batches) {
    const auto q = row_of(ids.q, b), k = row_of(ids.k, b);
    for (const Index h : heads) {
      const PlanePtr plane = mask.plane(b, h);
      const PlanePtr over = other != nullptr ? other->plane(b, h) : nullptr;
      auto group = std::ranges::find_if(groups, [&](const Group& g) {
        return g.panel.plane == plane && g.panel.other == over &&
               std::ranges::equal(g.panel.q_segments, q) &&
               std::ranges::equal(g.panel.k_segments, k);
      });
      if (group == groups.end()) {
        groups.push_back({{.plane = plane, .other = over, .q_segments = q, .k_segments = k}, {}});
        group = groups.end() - 1;
      }
      group->members[b].push_back(h);
      group->panel.members.emplace_back(b, h);
    }
  }
  std::vector<Panel> out;
  for (Group& group : groups) {
    group.panel.name = group_name(mask, group.members);
    out.push_back(std::move(group.panel));
  }
  return out;
}

Range drawn_queries(const Figure& figure) {
  return figure.queries.value_or(Range{0, queries_of(figure.panels.front())});
}

Range drawn_keys(const Figure& figure) {
  return figure.keys.value_or(Range{0, keys_of(figure.panels.front())});
}

void check_figure(const Figure& figure) {
  if (figure.panels.empty()) throw Error(Errc::kInvalidArgument, "a figure without panels");
  if (figure.panels.size() > kMostPanels) {
    throw Error(Errc::kLimit,
                fmt::format("{} different masks on one sheet: at most {}; draw fewer batches or "
                            "heads",
                            figure.panels.size(), kMostPanels));
  }
  const Panel& first = figure.panels.front();
  for (const Panel& panel : figure.panels) check_panel(panel, first);
  check_part("queries", drawn_queries(figure), queries_of(first));
  check_part("keys", drawn_keys(figure), keys_of(first));
  check_labels("queries", figure.q_labels, queries_of(first));
  check_labels("keys", figure.k_labels, keys_of(first));
  const auto tile = tile_size_of(first);
  if (!tile) return;
  check_whole_tiles("queries", drawn_queries(figure), tile->q, queries_of(first));
  check_whole_tiles("keys", drawn_keys(figure), tile->k, keys_of(first));
}

std::optional<BlockSize> tile_size_of(const Panel& panel) {
  if (panel.tiles != nullptr) return BlockSize{panel.tiles->q_tile, panel.tiles->k_tile};
  return panel.tile_size;
}

DocumentPlanes document_planes(const Panel& panel, std::int32_t pad_id) {
  if (panel.documents.leaks) return panel.documents;
  const auto cells = document_cells_of(panel, pad_id);
  if (!cells) return {};
  return {cells->leaks().plane(0, 0), cells->padding().plane(0, 0)};
}

PlanePtr difference_of(const Panel& panel) {
  if (!panel.plane || !panel.other) return nullptr;
  return panel.different ? panel.different : combine(Op::kXor, panel.plane, panel.other);
}

}  // namespace maskctl
