// Planes whose rows are clips of disjoint lists of keys: documents whose ids recur, dilation, and
// both of these under a causal or window rule.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "maskctl/mask/plane.h"
#include "maskctl/mask/rows.h"

namespace maskctl {

/// Query i sees key j where q[i] == k[j] >= 0 and clip[i].begin <= j < clip[i].end. Classes are 0
/// .. count - 1; a token of class -1 sees nothing and is not seen. An empty clip has begin == end.
struct ClippedClasses {
  std::vector<std::int32_t> q, k;
  std::vector<Run> clip;
  std::int32_t count = 0;
};

/// The clipped classes of a plane, in O(queries + keys). Nothing for planes that have no such form,
/// and for lists that share keys.
std::optional<ClippedClasses> clipped_classes(const Plane& plane);

bool has_clipped_classes(const Plane& plane);

/// Clipped classes that borrow the rows that the plane stores: query i sees key j where k[j] ==
/// rows[i].list and rows[i].begin <= j < rows[i].end. Lists are 0 .. count - 1; some may have no
/// keys. Valid as long as the plane; can be moved, not copied.
struct ClippedRows {
  ClippedRows() = default;
  ClippedRows(ClippedRows&&) = default;
  ClippedRows& operator=(ClippedRows&&) = default;

  std::span<const RowRef> rows;
  std::span<const std::int32_t> k;
  std::int32_t count = 0;
  // Storage that `rows` points to when the plane consists of bands.
  std::vector<RowRef> made_rows;
  std::vector<std::int32_t> made_k;
};

/// O(queries + keys). Works for clipped classes, and for bands with at most one run per row, which
/// are a single class.
std::optional<ClippedRows> clipped_rows(const Plane& plane);

/// Converts back to a plane of shared lists.
PlanePtr plane_of(const ClippedClasses& classes);
/// plane_of() with one clip for all queries.
PlanePtr plane_of(std::span<const std::int32_t> q, std::span<const std::int32_t> k,
                  std::int32_t count, Run clip);

/// True for the same plane and for planes with the same shared lists and rows. Such planes have
/// equal cells; planes with equal cells need not be such. O(queries + runs).
bool same_representation(const Plane& a, const Plane& b);

/// The intersection of two planes of equal shape in O(queries + keys). Null for planes that have no
/// such form, for lists that share keys, and when there are too many pairs of classes to number.
PlanePtr intersect_classes(const Plane& a, const Plane& b);

}  // namespace maskctl
