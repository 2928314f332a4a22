// Tiers 1 and 2: stored rows, as runs or as words.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "maskctl/mask/plane.h"

namespace maskctl {

/// Run list number `list`, clipped to keys [begin, end).
struct RowRef {
  std::uint32_t list = 0;
  std::int32_t begin = 0;
  std::int32_t end = 0;
  friend bool operator==(const RowRef&, const RowRef&) = default;
};

/// Tier 1. List i is runs[list_offsets[i] .. list_offsets[i + 1]), ascending, not touching; row q
/// is refs[q]. Lists are shared by any number of rows.
PlanePtr row_lists(Index keys, std::vector<Run> runs, std::vector<Index> list_offsets,
                   std::vector<RowRef> refs);

/// Calls `fill` for the rows and stores them in the lowest tier that holds them. fill(q, words)
/// writes the rows q, ceil(keys / 64) words each, bits past the last key zero. It is called once
/// for each chunk of rows: in ascending order, one after another, when `in_order`, else from
/// several threads.
using FillWords = std::function<void(Range q, std::span<std::uint64_t> words)>;
PlanePtr stored_rows(Index queries, Index keys, bool in_order, const FillWords& fill);

/// Reads the rows of any plane once and stores them. Null when they would take more than
/// `budget_runs` runs and more than the same memory as words.
PlanePtr stored(const Plane& plane, Index budget_runs);

}  // namespace maskctl
