#include "app/tui/beside/plane_finds.h"

#include <utility>

namespace maskctl::app::tui {
namespace {

Found found(Index count, RegionsFound regions) {
  if (count == 0) return {};
  return {count, std::make_shared<const RegionsFound>(std::move(regions))};
}

Found open_cells(const PlanePtr& plane) {
  const Index count = plane ? plane->count() : 0;
  return count == 0 ? Found{} : found(count, open_regions(*plane));
}

Found empty_rows(const Plane& plane) {
  Index count = 0;
  plane.row_sizes({0, plane.queries()}, [&](Range rows, const Plane::RowSize& size) {
    if (size.keys == 0) count += rows.size();
  });
  return count == 0 ? Found{} : found(count, empty_row_regions(plane));
}

}  // namespace

const Found* PlaneFinds::of(Target target) const {
  switch (target) {
    case Target::kLeak:
      return &leaks;
    case Target::kDifference:
      return &differences;
    case Target::kEmptyRow:
      return &empty_rows;
    default:
      return nullptr;
  }
}

PlanePtr leaks_in(Panel panel, std::int32_t pad_id) {
  panel.other = nullptr;  // leave out the overlay; only leaks of A are wanted
  return document_planes(panel, pad_id).leaks;
}

PlaneFinds finds_in(const Plane& plane, const PlanePtr& leaks, const PlanePtr& different) {
  return {open_cells(leaks), open_cells(different), empty_rows(plane)};
}

}  // namespace maskctl::app::tui
