// What is known about one batch and head: some facts immediately, others after counting.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "app/tui/beside/plane_finds.h"
#include "maskctl/render/figure/figure.h"

namespace maskctl::app::tui {

/// How many queries see how many keys: bins of equal width from the fewest keys to the most.
struct RowSizes {
  struct Bin {
    Range keys;  // from so many keys on, to fewer than so many
    Index rows = 0;
  };
  std::vector<Bin> bins;
};
RowSizes row_sizes_of(const Plane& plane);

struct PlaneCounts {
  Panel panel;         // what to draw
  Index id_width = 0;  // number of characters of the longest segment id of a query
  /// False while counting. Until it is true, the panel has no leaks and no padding.
  bool counted = false;
  PlanePtr different = nullptr;                 // cells in which the two SOURCEs differ
  std::pair<PlanePtr, PlanePtr> only = {};      // cells that are open only in A, and only in B
  Index open = 0, other_open = 0, padding = 0;  // numbers of open cells in A, in B, and of padding
  PlaneFinds finds;
  RowSizes row_sizes;
};

/// The number of full tiles, and of tiles that are partly open.
struct TileCounts {
  Index full = 0, partial = 0;
};
/// Counts the tiles of `cells` x `cells` cells, which may take long.
TileCounts counted_tiles(const Plane& plane, Index cells);

/// Returns the facts about a panel that are known without counting cells.
PlaneCounts first_counts(Panel panel);

/// Adds the counts, which may take long. `two` is the panel with both SOURCEs, if there are two.
PlaneCounts all_counts(PlaneCounts counts, const Panel& two, std::int32_t pad_id);

}  // namespace maskctl::app::tui
