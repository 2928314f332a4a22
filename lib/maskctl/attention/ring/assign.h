// Which queries of a sequence each rank of a ring has.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "maskctl/mask/mask.h"

namespace maskctl::attention {

/// Ways to deal n queries to N ranks. Keys are always dealt in N contiguous parts.
/// kContiguous: rank r has [r * n / N, (r + 1) * n / N).
/// kZigzag: of 2 * N such parts, rank r has parts r and 2 * N - 1 - r.
/// kStriped: rank r has the queries q with q % N = r.
/// kCost: tiles of 128 queries, the costliest first, each to the rank with the least cost so far; a
/// tile costs as many tiles of 128 keys as it sees, over all batches and heads, plus one for each
/// batch and head.
/// kBalanced: contiguous, but ranks that cost more than the mean give stretches of queries to ranks
/// that cost less, until none costs more than 1.05 times the mean, up to a tile. Stretches are few
/// and long, and their new rank has most of their keys already. Lengths differ.
enum class Assign : std::uint8_t { kContiguous, kZigzag, kStriped, kCost, kBalanced };
inline constexpr std::string_view kAssignWords[] = {"contiguous", "zigzag", "striped", "cost",
                                                    "balanced"};

/// The queries of each rank, ascending, without empty ranges. Every rank computes the same shares
/// from the same mask.
using Shares = std::vector<std::vector<Range>>;
Shares assigned_queries(Assign assign, const Mask& mask, Index ranks);

/// Part `i` of n in `parts` contiguous ones.
constexpr Range part_of(Index n, Index parts, Index i) {
  return {i * n / parts, (i + 1) * n / parts};
}

}  // namespace maskctl::attention
