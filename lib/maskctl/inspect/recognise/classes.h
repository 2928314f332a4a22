// Documents in the widest sense: classes of queries and keys that see each other, and the finest
// classes that contain given cells; private to inspect.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "maskctl/mask/plane.h"

namespace maskctl::recognition {

struct ClassRun {
  Range at;
  std::int32_t id = 0;
  friend bool operator==(const ClassRun&, const ClassRun&) = default;
};

/// A query and a key see each other if their ids are equal; those in no run see nothing.
struct Classes {
  std::vector<ClassRun> q, k;  // ascending; neighbours with equal ids form one run
  bool shared = false;         // one list for both sides
  std::int32_t count = 0;      // ids are 0 .. count - 1 in order of appearance in q
  friend bool operator==(const Classes&, const Classes&) = default;
};

/// The finest classes that contain all cells of the plane. `shared`: each position has the same id
/// as query and as key (queries == keys).
Classes connected(const Plane& plane, bool shared);

/// The mask that the classes mean.
PlanePtr plane_of(const Classes& classes, Index queries, Index keys);

/// The ids of all positions, increased by `first`; `none` outside the runs.
void write_ids(const std::vector<ClassRun>& runs, std::int32_t first, std::int32_t none,
               std::span<std::int32_t> ids);
/// These ids as an array of `size` positions.
std::vector<std::int32_t> ids_of(const std::vector<ClassRun>& runs, Index size, std::int32_t first,
                                 std::int32_t none);

}  // namespace maskctl::recognition
