// What a reader looks for in one batch and head, as regions that n and N walk.
#pragma once

#include <memory>

#include "app/tui/actions.h"
#include "maskctl/inspect/find/regions.h"
#include "maskctl/render/figure/figure.h"

namespace maskctl::app::tui {

/// The cells of one kind.
struct Found {
  Index count = 0;                                        // of cells; of rows, for empty rows
  std::shared_ptr<const RegionsFound> regions = nullptr;  // null without any
  std::span<const Region> list() const {
    return regions ? std::span<const Region>(regions->regions) : std::span<const Region>();
  }
};

struct PlaneFinds {
  Found leaks, differences, empty_rows;
  /// Null for targets that are not regions.
  const Found* of(Target target) const;
};

/// The open cells of A that join two documents, drawn or not; null where none are known.
PlanePtr leaks_in(Panel panel, std::int32_t pad_id);

/// Looks for all; `leaks` and `different` may be null. May take long.
PlaneFinds finds_in(const Plane& plane, const PlanePtr& leaks, const PlanePtr& different);

}  // namespace maskctl::app::tui
