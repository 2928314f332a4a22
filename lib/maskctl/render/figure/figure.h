// What a drawing shows, whatever it is made of: characters, pixels or markup.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "maskctl/mask/block_size.h"
#include "maskctl/mask/blocks/block_map.h"
#include "maskctl/mask/mask.h"
#include "maskctl/render/figure/axis_labels.h"
#include "maskctl/render/figure/page_notes.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl {

/// Which open cells of a panel are leaks, and which of them are padding (mask/documents.h).
struct DocumentPlanes {
  PlanePtr leaks = nullptr, padding = nullptr;
  friend bool operator==(const DocumentPlanes&, const DocumentPlanes&) = default;
};

/// One matrix of a figure: one mask, two masks overlaid, or the tiles of a block map.
struct Panel {
  PlanePtr plane = nullptr;  // the mask, or mask A of two; not needed with `tiles`
  PlanePtr other = nullptr;  // mask B, of equal extents; null: there is only one mask
  /// If `tiles` or `tile_size` is set, the panel shows tiles: those of the map `tiles`, which must
  /// outlive the drawing, or tiles of `plane` of this size, of which only those that are drawn are
  /// computed.
  const TileMap* tiles = nullptr;
  std::optional<BlockSize> tile_size = {};
  std::string name = {};  // such as "batch 0, heads 0-3, 5"; empty: not shown
  std::vector<std::pair<Index, Index>> members = {};  // its batches and heads, if known
  /// Segment ids, one for each query and key of the plane; empty: not shown. If both are set and
  /// there is no second mask, leaks are marked, and leaks and open cells of padding are counted.
  std::span<const std::int32_t> q_segments = {}, k_segments = {};
  // The results of document_planes() and difference_of(), if known: they are then not computed
  // again.
  DocumentPlanes documents = {};
  PlanePtr different = nullptr;
};

/// Panels of one kind and of equal extents, under one title and with one legend.
struct Figure {
  /// The title: where the mask came from and what was done to it. May have any bytes; empty: not
  /// shown.
  std::string name = {}, other_name = {};
  std::vector<Panel> panels = {};
  std::int32_t pad_id = -1;
  /// The part to draw, in whole tiles if tiles are shown; all if not set. Rulers show indices of
  /// the whole mask.
  std::optional<Range> queries = {}, keys = {};
  /// Labels of all queries and of all keys, which must outlive the drawing; null: not shown. Only
  /// drawings in characters and pages show them.
  const AxisLabels* q_labels = nullptr;
  const AxisLabels* k_labels = nullptr;
  /// What is known beside the cells, which must outlive the drawing; only pages show it.
  const PageNotes* notes = nullptr;

  bool labelled() const { return q_labels != nullptr || k_labels != nullptr; }
};

/// Segment ids of a mask, int32 [1 or B, S], for queries and for keys; absent: not known.
struct SegmentTensors {
  std::optional<Tensor> q = {}, k = {};
};

/// One panel for each of these batches and heads of the mask, overlaid with those of `other` if it
/// is given. Equal planes with equal ids become one panel, whose name lists all of them: "heads
/// 0-3, 5". An axis with only one entry is not named. The ids must outlive the panels. Throws
/// Error(kShape) if ids or `other` lack a batch or head, and Error(kInvalidArgument) for batches
/// and heads outside the mask.
std::vector<Panel> panels_of(const Mask& mask, Range batches, Range heads,
                             const SegmentTensors& ids = {}, const Mask* other = nullptr);
/// panels_of() for any batches and heads, in the given order.
std::vector<Panel> panels_of(const Mask& mask, std::span<const Index> batches,
                             std::span<const Index> heads, const SegmentTensors& ids = {},
                             const Mask* other = nullptr);

/// The size of a tile in cells; absent for a panel that shows cells.
std::optional<BlockSize> tile_size_of(const Panel& panel);

/// The queries, and the keys, that are drawn.
Range drawn_queries(const Figure& figure);
Range drawn_keys(const Figure& figure);

inline constexpr std::size_t kMostPanels = 256;

/// Throws Error(kLimit) for more than kMostPanels panels; Error(kInvalidArgument) for no panels, a
/// panel without a plane, tiles together with a mask B, a part that cuts tiles, panels of different
/// kinds, ids or labels whose number differs from the extent, and ranges outside of the plane;
/// Error(kShape) for planes of unequal extents.
void check_figure(const Figure& figure);

/// The leaks and the padding of a panel. Both are null if queries or keys have no segment ids, and
/// for two masks.
DocumentPlanes document_planes(const Panel& panel, std::int32_t pad_id);

/// The cells in which the two masks of `panel` differ; null for a single mask.
PlanePtr difference_of(const Panel& panel);

}  // namespace maskctl
