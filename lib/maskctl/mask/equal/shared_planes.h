// Collects planes that are made one after another, keeping equal ones once.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "maskctl/mask/mask.h"
#include "maskctl/mask/rows.h"

namespace maskctl {

/// True when the planes have equal extents and equal cells. Reads rows until they differ.
bool same_cells(const Plane& a, const Plane& b);

/// The planes of a mask in the order (b, h). A plane equal to an earlier one is dropped at once, so
/// at most the distinct planes and one more are held. A hash of the rows finds candidates; equality
/// is always confirmed by comparing cells.
class SharedPlanes {
 public:
  SharedPlanes(Index batch, Index heads, Index queries, Index keys);
  /// Adds the next plane, made by stored_rows(queries, keys, in_order, fill).
  void add_stored(bool in_order, const FillWords& fill);
  /// Requires that all planes have been added.
  Mask mask() const;

 private:
  Index batch_, heads_, queries_, keys_;
  std::vector<PlanePtr> distinct_;
  std::vector<std::uint32_t> which_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> by_hash_;
};

/// Refuses shapes such as (2^31, 0) that cost time and memory although the array holds next to
/// nothing: the product of these extents (batches, rows) may be at most the larger of `elements`
/// and 2^20. Throws Error(kLimit).
void check_empty_extents(std::span<const Index> extents, Index elements);

/// Rows of a matrix grouped by content: which[r] is the number of row r's group, in order of first
/// appearance, and first[d] is the first row of group d.
struct DistinctRows {
  std::vector<std::uint32_t> which;
  std::vector<Index> first;
};
DistinctRows distinct_rows(std::span<const std::byte> data, Index rows);

}  // namespace maskctl
