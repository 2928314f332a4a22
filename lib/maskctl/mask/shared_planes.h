// Planes that are made one after another, equal ones kept once.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "maskctl/mask/mask.h"
#include "maskctl/mask/rows.h"

namespace maskctl {

/// True when the planes have equal extents and open the same cells. Reads rows until they differ.
bool same_cells(const Plane& a, const Plane& b);

/// The planes of a mask in the order (b, h); one that equals an earlier one is dropped at once, so
/// no more than the distinct planes and one are held. Which could be equal is told by a hash of the
/// rows; that they are is always compared.
class SharedPlanes {
 public:
  SharedPlanes(Index batch, Index heads, Index queries, Index keys);
  /// The next plane, from stored_rows(queries, keys, in_order, fill).
  void add_stored(bool in_order, const FillWords& fill);
  /// All planes must have been added.
  Mask mask() const;

 private:
  Index batch_, heads_, queries_, keys_;
  std::vector<PlanePtr> distinct_;
  std::vector<std::uint32_t> which_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> by_hash_;
};

/// Refuses shapes that cost time and memory although the array holds next to nothing, as (2^31, 0):
/// the product of these extents (batches, rows) may exceed neither `elements` nor 2^20, whichever
/// is larger. Throws Error(kLimit).
void check_empty_extents(std::span<const Index> extents, Index elements);

/// Rows of a matrix that are equal, found by content: which[r] numbers the distinct rows in the
/// order of their first appearance, first[d] is where distinct row d appears first.
struct DistinctRows {
  std::vector<std::uint32_t> which;
  std::vector<Index> first;
};
DistinctRows distinct_rows(std::span<const std::byte> data, Index rows);

}  // namespace maskctl
