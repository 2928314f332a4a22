// Collects planes that are made one after another, and stores equal ones once.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "maskctl/mask/mask.h"
#include "maskctl/mask/rows.h"

namespace maskctl {

/// True when both planes have equal extents and equal cells. Reads rows until two differ.
bool same_cells(const Plane& a, const Plane& b);

/// Collects the planes of a mask in the order of (batch, head). A plane that equals an earlier one
/// is dropped immediately, so memory holds the distinct planes and at most one more. Planes of
/// equal hash are compared cell by cell.
class SharedPlanes {
 public:
  SharedPlanes(Index batch, Index heads, Index queries, Index keys);
  /// Makes the next plane by stored_rows(queries, keys, in_order, fill) and adds it.
  void add_stored(bool in_order, const FillWords& fill);
  /// The mask of all planes; call it when all have been added.
  Mask mask() const;

 private:
  Index batch_, heads_, queries_, keys_;
  std::vector<PlanePtr> distinct_;
  std::vector<std::uint32_t> which_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> by_hash_;
};

/// Refuses shapes such as (2^31, 0), which would cost time and memory for an array of almost no
/// elements. The product of `extents` (batches, rows) may be at most max(elements, 2^20). Throws
/// Error(kLimit).
void check_empty_extents(std::span<const Index> extents, Index elements);

/// The distinct rows of a matrix. which[r] is the group of row r, numbered by first appearance;
/// first[d] is the first row of group d.
struct DistinctRows {
  std::vector<std::uint32_t> which;
  std::vector<Index> first;
};
DistinctRows distinct_rows(std::span<const std::byte> data, Index rows);

}  // namespace maskctl
