// Classes of queries and keys that see each other, a general form of documents; private to inspect.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "maskctl/inspect/recognise/joined_sets.h"
#include "maskctl/mask/plane.h"

namespace maskctl::recognition {

struct ClassRun {
  Range at;
  std::int32_t id = 0;
  friend bool operator==(const ClassRun&, const ClassRun&) = default;
};

/// A query and a key see each other if they have the same id. Positions in no run see nothing.
struct Classes {
  std::vector<ClassRun> q, k;  // ascending; neighbours with equal ids form one run
  bool shared = false;         // q and k are the same list
  std::int32_t count = 0;      // ids are 0 .. count - 1 in order of appearance in q
  friend bool operator==(const Classes&, const Classes&) = default;
};

/// The finest classes that contain all cells of the plane. With `shared`, each position has the
/// same id as a query and as a key (needs queries == keys).
Classes connected(const Plane& plane, bool shared);

/// The classes of positions in joined sets: queries, then keys, which with `shared` are the same
/// positions. Those with `covered` 0 are in none.
Classes classes_of(JoinedSets& sets, std::span<const std::uint8_t> covered, Index queries,
                   Index keys, bool shared);

/// The plane in which queries and keys of the same class see each other.
PlanePtr plane_of(const Classes& classes, Index queries, Index keys);

/// Writes one id per position: the id of its run plus `first`, or `none` outside the runs.
void write_ids(const std::vector<ClassRun>& runs, std::int32_t first, std::int32_t none,
               std::span<std::int32_t> ids);
/// Returns the ids that write_ids() writes, as a new array of `size` positions.
std::vector<std::int32_t> ids_of(const std::vector<ClassRun>& runs, Index size, std::int32_t first,
                                 std::int32_t none);

}  // namespace maskctl::recognition
