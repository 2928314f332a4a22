// How the queries of a sequence are distributed over the ranks of a ring.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "maskctl/mask/mask.h"

namespace maskctl::attention {

/// Ways to distribute n queries over N ranks. The keys are always split into N contiguous parts.
/// kContiguous: rank r has [r * n / N, (r + 1) * n / N).
/// kZigzag: the queries are split into 2 * N contiguous parts; rank r has parts r and 2 * N - 1 -
/// r.
/// kStriped: rank r has the queries q with q % N = r.
/// kCost: tiles of 128 queries, the most expensive first, each go to the rank with the least total
/// cost so far. Summed over all batches and heads, a tile costs 1 plus the number of tiles of 128
/// keys that it sees.
/// kBalanced: starts with kContiguous; then ranks that cost more than the mean give ranges of
/// queries to cheaper ranks, until no rank costs more than 1.05 times the mean (as far as whole
/// tiles allow). Few, long ranges move, and to ranks that have most of their keys already. Ranks
/// may have different numbers of queries.
enum class Assign : std::uint8_t { kContiguous, kZigzag, kStriped, kCost, kBalanced };
inline constexpr std::string_view kAssignWords[] = {"contiguous", "zigzag", "striped", "cost",
                                                    "balanced"};

/// The queries of each rank as ascending, nonempty ranges. All ranks compute the same result from
/// the same mask.
using Shares = std::vector<std::vector<Range>>;
Shares assigned_queries(Assign assign, const Mask& mask, Index ranks);

/// Part `i` (from 0) of n elements that are split into `parts` contiguous parts.
constexpr Range part_of(Index n, Index parts, Index i) {
  return {i * n / parts, (i + 1) * n / parts};
}

}  // namespace maskctl::attention
