// Documents in their widest sense: classes of queries and keys that see each other, and the finest
// ones that hold given cells; private to inspect.
#pragma once

#include <cstdint>
#include <vector>

#include "maskctl/mask/plane.h"

namespace maskctl::recognising {

struct ClassRun {
  Range at;
  std::int32_t id = 0;
  friend bool operator==(const ClassRun&, const ClassRun&) = default;
};

/// Query and key of equal id see each other; those in no run see nothing.
struct Classes {
  std::vector<ClassRun> q, k;  // ascending; equal neighbours are one run
  bool shared = false;         // one list serves both sides
  std::int32_t count = 0;      // ids are 0 .. count - 1, by first appearance among the queries
  friend bool operator==(const Classes&, const Classes&) = default;
};

/// The finest classes that hold all cells of the plane. `shared`: each position has one id as query
/// and as key (queries == keys).
Classes connected(const Plane& plane, bool shared);

/// Classes as a mask.
PlanePtr plane_of(const Classes& classes, Index queries, Index keys);

/// The ids one by one, moved up by `first`; `none` outside the runs.
std::vector<std::int32_t> ids_of(const std::vector<ClassRun>& runs, Index size, std::int32_t first,
                                 std::int32_t none);

}  // namespace maskctl::recognising
