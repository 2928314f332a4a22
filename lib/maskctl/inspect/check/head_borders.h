// What heads of one batch entry have in common: where padding, prefixes and branches begin and end,
// and the trees of which they see a part; private to inspect.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "maskctl/inspect/check/finding.h"
#include "maskctl/inspect/recognise/known_planes.h"
#include "maskctl/mask/mask.h"
#include "maskctl/mask/planes/bands.h"

namespace maskctl {

/// The queries of a plane that do not see the key at this distance after their own.
std::vector<Index> blind(const Plane& line, Index distance);

/// The distance of queries that are equally far from each other, as the borders of chunks and grids
/// are: 0 for fewer than two, nothing where they are not, or where they touch.
std::optional<Index> step_of(std::span<const Index> queries);

/// The finding heads-borders. `seen`: the cells at one distance after their queries' own keys that
/// one head sees, and the other does not.
Finding border_seen(const Plane& seen, Index batch, Index head, Index other, Index distance);

/// What of a tree a plane is, by its steps: the first keys, and those at most `left` before a
/// query. A window may leave a smaller tree, of which the farthest cell tells how far it reaches.
struct PartOfTree {
  Index left = kUnbounded, sinks = 0;
};
std::optional<PartOfTree> part_of_tree(const PlanePtr& plane, recognition::KnownPlanes& planes);

/// Whether tokens see each other in several heads, of few distinct planes.
bool has_few_heads(const Mask& mask);

}  // namespace maskctl
