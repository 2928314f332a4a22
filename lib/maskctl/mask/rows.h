// Planes that store their rows: as runs of keys (tier 1) or as bits (tier 2).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "maskctl/mask/plane.h"

namespace maskctl {

/// A row: the keys of run list number `list` that are in [begin, end).
struct RowRef {
  std::uint32_t list = 0;
  std::int32_t begin = 0;
  std::int32_t end = 0;
  friend bool operator==(const RowRef&, const RowRef&) = default;
};

/// Makes the plane of shared run lists (tier 1) whose row q is refs[q]. Run list i is
/// runs[list_offsets[i]] .. runs[list_offsets[i + 1] - 1], ascending, not touching. Any number of
/// rows may share a list.
PlanePtr row_lists(Index keys, std::vector<Run> runs, std::vector<Index> list_offsets,
                   std::vector<RowRef> refs);

/// Calls fill(q, words), which writes the rows q as ceil(keys / 64) words each with bits after the
/// last key zero, and stores them as runs or as bits, whichever is cheaper. It is called once for
/// each chunk of rows: in ascending order, one call at a time, if `in_order`, else from several
/// threads.
using FillWords = std::function<void(Range q, std::span<std::uint64_t> words)>;
PlanePtr stored_rows(Index queries, Index keys, bool in_order, const FillWords& fill);

/// Appends the runs of a list to `runs`: ascending, not touching, inside the plane.
using FillRuns = std::function<void(Index list, std::vector<Run>& runs)>;
/// How many runs lists may have and, for which room is reserved, how many they have if no two
/// touch; 0 if that is not known.
struct RunLimits {
  Index max_bytes = 0, likely = 0;
};
/// Calls fill() once for each list, from several threads, and stores the plane in which list i is
/// that of the queries [i * queries_per_list, (i + 1) * queries_per_list), as far as there are so
/// many: as runs, or as bits if these take less memory. Throws Error(kLimit) when the runs take
/// more than max_bytes.
PlanePtr filled_lists(Index queries, Index keys, Index queries_per_list, RunLimits limits,
                      const FillRuns& fill);

/// Reads all rows of any plane once and stores them, as runs or as words. Null when the rows have
/// more than `budget_runs` runs, and words would take more memory than `budget_runs` runs.
PlanePtr stored(const Plane& plane, Index budget_runs);

}  // namespace maskctl
