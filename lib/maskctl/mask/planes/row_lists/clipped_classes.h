// Planes in which each row sees the keys of one class (those with the same id, or the same
// remainder modulo a stride), clipped to a range. Such are documents whose ids recur and dilation,
// alone or under a causal or window rule.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "maskctl/mask/plane.h"
#include "maskctl/mask/rows.h"

namespace maskctl {

/// Query i sees key j where q[i] == k[j] >= 0 and clip[i].begin <= j < clip[i].end. q and k hold
/// classes, such as document ids: 0 .. count - 1, or -1 for a token that sees nothing and is not
/// seen. An empty clip has begin == end.
struct ClippedClasses {
  std::vector<std::int32_t> q, k;
  std::vector<Run> clip;
  std::int32_t count = 0;
};

/// Returns the classes (such as document ids) and clips of a plane, in O(queries + keys). Nothing
/// for planes that do not have this form: each row must see one list of keys, clipped to a range,
/// and no key may be in two lists.
std::optional<ClippedClasses> clipped_classes(const Plane& plane);

bool has_clipped_classes(const Plane& plane);

/// What ClippedClasses describes, as a view of the rows that the plane stores: query i sees key j
/// where k[j] == rows[i].list and rows[i].begin <= j < rows[i].end. Lists are 0 .. count - 1; some
/// may have no keys. Valid as long as the plane. Can be moved, not copied.
struct ClippedRows {
  ClippedRows() = default;
  ClippedRows(ClippedRows&&) = default;
  ClippedRows& operator=(ClippedRows&&) = default;

  std::span<const RowRef> rows;
  std::span<const std::int32_t> k;
  std::int32_t count = 0;
  // Memory for `rows` and `k` when they must be computed, because the plane is made of bands.
  std::vector<RowRef> made_rows;
  std::vector<std::int32_t> made_k;
};

/// Returns the rows of a plane as clips of lists that share no key, in O(queries + keys). Works for
/// planes that clipped_classes() accepts, and for bands with at most one run per row, whose keys
/// form a single list. Nothing for other planes.
std::optional<ClippedRows> clipped_rows(const Plane& plane);

/// Makes a plane with the cells that `classes` describes: it stores the keys of each class (such as
/// a document) once, as a list that the queries of the class share.
PlanePtr plane_of(const ClippedClasses& classes);
/// Makes the plane of ClippedClasses with these members `q` and `k`, and with the same clip for all
/// queries.
PlanePtr plane_of(std::span<const std::int32_t> q, std::span<const std::int32_t> k,
                  std::int32_t count, Run clip);

/// True for the same plane, and for planes that store the same lists and rows, whose cells are then
/// equal. Planes stored differently can have equal cells too. O(queries + runs).
bool same_representation(const Plane& a, const Plane& b);

/// The intersection of two planes of equal shape, in O(queries + keys). Null for planes that
/// clipped_classes() does not accept, and when there are too many pairs of a class of `a` and a
/// class of `b`.
PlanePtr intersect_classes(const Plane& a, const Plane& b);

}  // namespace maskctl
