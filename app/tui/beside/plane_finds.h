// Leaks, differences and empty rows of one batch and head, as regions that the keys n and N visit.
#pragma once

#include <memory>

#include "app/tui/beside/target.h"
#include "maskctl/inspect/find/regions.h"
#include "maskctl/render/figure/figure.h"

namespace maskctl::app::tui {

/// The cells of one kind (leaks, differences or empty rows) of a batch and head, grouped into
/// regions.
struct Found {
  // Number of cells; for empty rows, number of rows.
  Index count = 0;
  std::shared_ptr<const RegionsFound> regions = nullptr;  // null if there are none
  std::span<const Region> list() const {
    return regions ? std::span<const Region>(regions->regions) : std::span<const Region>();
  }
};

struct PlaneFinds {
  Found leaks, differences, empty_rows;
  /// Returns the cells of a search target, such as leaks; null for targets that have no regions.
  const Found* of(Target target) const;
};

/// The leaks of A: open cells that join two documents, even if the panel does not draw them. Null
/// if no documents are known.
PlanePtr leaks_in(Panel panel, std::int32_t pad_id);

/// Finds the cells of all kinds. `leaks` and `different` may be null. May take long.
PlaneFinds finds_in(const Plane& plane, const PlanePtr& leaks, const PlanePtr& different);

}  // namespace maskctl::app::tui
