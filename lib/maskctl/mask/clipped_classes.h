// Planes whose rows are clips of disjoint lists of keys: documents that come back, dilation, and
// both of them under a causal or window rule.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "maskctl/mask/plane.h"
#include "maskctl/mask/rows.h"

namespace maskctl {

/// Query i sees key j where q[i] == k[j] >= 0 and clip[i].begin <= j < clip[i].end. Classes are
/// 0 .. count - 1; -1 sees nothing and is seen by none. An empty clip has begin == end.
struct ClippedClasses {
  std::vector<std::int32_t> q, k;
  std::vector<Run> clip;
  std::int32_t count = 0;
};

/// O(queries + keys). Nothing for planes that are not held so, and for lists that share keys.
std::optional<ClippedClasses> clipped_classes(const Plane& plane);

bool has_clipped_classes(const Plane& plane);

/// The same, with rows read where the plane holds them: query i sees key j where k[j] ==
/// rows[i].list and rows[i].begin <= j < rows[i].end. Lists are 0 .. count - 1, some without keys.
/// Valid as long as the plane; moved, never copied.
struct ClippedRows {
  ClippedRows() = default;
  ClippedRows(ClippedRows&&) = default;
  ClippedRows& operator=(ClippedRows&&) = default;

  std::span<const RowRef> rows;
  std::span<const std::int32_t> k;
  std::int32_t count = 0;
  // What both show where the plane holds bands.
  std::vector<RowRef> made_rows;
  std::vector<std::int32_t> made_k;
};

/// O(queries + keys). Of clipped classes, and of bands of at most one run a row, which are one
/// class.
std::optional<ClippedRows> clipped_rows(const Plane& plane);

/// The plane again, as shared lists.
PlanePtr plane_of(const ClippedClasses& classes);
/// The same with one clip for all queries.
PlanePtr plane_of(std::span<const std::int32_t> q, std::span<const std::int32_t> k,
                  std::int32_t count, Run clip);

/// True for one plane and for planes of the same shared lists: then they open the same cells, but
/// not only then. O(queries + runs).
bool held_alike(const Plane& a, const Plane& b);

/// Open in both of two planes of equal shape: O(queries + keys). Null for planes that are not held
/// so, for lists that share keys, and when there are too many pairs of classes to number.
PlanePtr product(const Plane& a, const Plane& b);

}  // namespace maskctl
