// What a drawing shows, whether it is made of characters, of pixels or of markup.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "maskctl/mask/block_size.h"
#include "maskctl/mask/blocks/block_map.h"
#include "maskctl/mask/mask.h"
#include "maskctl/render/figure/axis_labels.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl {

/// The open cells of a panel that are leaks, and those of padding (mask/documents.h).
struct DocumentPlanes {
  PlanePtr leaks = nullptr, padding = nullptr;
  friend bool operator==(const DocumentPlanes&, const DocumentPlanes&) = default;
};

/// One matrix of a figure: a mask, two masks over each other, or the tiles of a block map.
struct Panel {
  PlanePtr plane = nullptr;  // the mask, or A; not needed with `tiles`
  PlanePtr other = nullptr;  // B, of equal extents; null = one mask
  /// If one is set, the panel shows tiles: of a map, which must outlive the drawing, or of a size,
  /// and then only the tiles that are drawn are found.
  const TileMap* tiles = nullptr;
  std::optional<BlockSize> tile_size = {};
  std::string name = {};  // "batch 0, heads 0-3, 5"; empty = not shown
  /// Ids along both axes, one for each query and key of the plane; empty = not shown. If `plane` is
  /// alone or drawn as tiles and has both, its leaks are marked, and they and open padding counted.
  std::span<const std::int32_t> q_segments = {}, k_segments = {};
  // What document_planes() and difference_of() returned, if it is known: saves finding it again.
  DocumentPlanes documents = {};
  PlanePtr different = nullptr;
};

/// Panels of one kind and of equal extents, with one title and one legend.
struct Figure {
  /// The title: the SOURCE and what was done to it. Any bytes; empty = not shown.
  std::string name = {}, other_name = {};
  std::vector<Panel> panels = {};
  std::int32_t pad_id = -1;
  /// The part to draw, of whole tiles where there are some; everything if not set. Rulers show the
  /// indices of the whole mask.
  std::optional<Range> queries = {}, keys = {};
  /// Labels of all queries and all keys, which must outlive the drawing; null = not shown. Drawings
  /// in characters have them.
  const AxisLabels* q_labels = nullptr;
  const AxisLabels* k_labels = nullptr;

  bool labelled() const { return q_labels != nullptr || k_labels != nullptr; }
};

/// Segment ids of a mask, [1 or B, S] int32 for each side; absent = not known.
struct SegmentTensors {
  std::optional<Tensor> q = {}, k = {};
};

/// The planes of these batches and heads, over those of `other` if that is given. Equal ones with
/// equal ids become one panel, which is named after all of them: "heads 0-3, 5". An axis of which
/// the mask has only one is not named. The ids must outlive the panels. Throws Error(kShape) when
/// ids or `other` lack a batch or head, Error(kInvalidArgument) for batches and heads outside the
/// mask.
std::vector<Panel> panels_of(const Mask& mask, Range batches, Range heads,
                             const SegmentTensors& ids = {}, const Mask* other = nullptr);
/// panels_of() batches and heads that need not be neighbours, in the order given.
std::vector<Panel> panels_of(const Mask& mask, std::span<const Index> batches,
                             std::span<const Index> heads, const SegmentTensors& ids = {},
                             const Mask* other = nullptr);

/// Cells of a tile; nothing for a panel that shows cells.
std::optional<BlockSize> tile_size_of(const Panel& panel);

/// The part of the mask that is drawn.
Range drawn_queries(const Figure& figure);
Range drawn_keys(const Figure& figure);

inline constexpr std::size_t kMostPanels = 256;

/// Throws Error(kLimit) for more than kMostPanels, Error(kInvalidArgument) for no panels, a panel
/// without a plane, tiles with a B, a part of a tile, panels of different kinds, ids or labels of
/// another extent and ranges outside of the plane, Error(kShape) for planes of unequal extents.
void check_figure(const Figure& figure);

/// Null where ids do not tell documents, and for overlays.
DocumentPlanes document_planes(const Panel& panel, std::int32_t pad_id);

/// The cells in which the two masks of `panel` differ; null for a single mask.
PlanePtr difference_of(const Panel& panel);

}  // namespace maskctl
