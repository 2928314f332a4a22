#include "maskctl/mask/planes/row_lists/clipped_grid.h"

#include <algorithm>
#include <numeric>

#include "maskctl/mask/planes/stored_planes.h"

namespace maskctl {
namespace {

constexpr Index kMostBlocks = Index{1} << 24;

/// Returns the largest block size in queries: rows use another list than the row before only at
/// multiples of this size.
Index rows_of_block(std::span<const RowRef> refs) {
  Index size = 0;
  for (std::size_t row = 1; row < refs.size() && size != 1; ++row) {
    if (refs[row].list != refs[row - 1].list) size = std::gcd(size, static_cast<Index>(row));
  }
  return size == 0 ? std::ssize(refs) : size;
}

/// Returns the largest block size in keys: all runs begin and end at multiples of this size, or
/// after the last key.
Index keys_of_block(std::span<const Run> runs, Index keys) {
  Index size = 0;
  for (const Run& run : runs) {
    size = std::gcd(size, Index{run.begin});
    if (run.end != keys) size = std::gcd(size, Index{run.end});
    if (size == 1) break;
  }
  return size == 0 ? keys : size;
}

void fill_map(const RowLists& plane, ClippedGrid& grid) {
  grid.map.resize(as_size(grid.rows * grid.columns));
  for (Index row = 0; row < grid.rows; ++row) {
    const auto to = grid.map.begin() + row * grid.columns;
    for (const Run& run : plane.lists().list(plane.refs()[as_size(row * grid.q_size)].list)) {
      std::fill(to + run.begin / grid.k_size, to + ceil_div(run.end, grid.k_size), 1);
    }
  }
}

}  // namespace

std::optional<ClippedGrid> clipped_grid(const Plane& plane) {
  const auto* lists = dynamic_cast<const RowLists*>(&plane);
  if (!lists || plane.queries() == 0 || plane.keys() == 0) return std::nullopt;
  ClippedGrid out;
  out.q_size = rows_of_block(lists->refs());
  out.rows = ceil_div(plane.queries(), out.q_size);
  if (out.rows > kMostBlocks) return std::nullopt;
  out.k_size = keys_of_block(lists->lists().runs, plane.keys());
  out.columns = ceil_div(plane.keys(), out.k_size);
  if (out.columns > kMostBlocks / out.rows) return std::nullopt;
  fill_map(*lists, out);
  out.clip.reserve(lists->refs().size());
  for (const RowRef& ref : lists->refs()) {
    out.clip.push_back({ref.begin, std::max(ref.begin, ref.end)});
  }
  return out;
}

}  // namespace maskctl
