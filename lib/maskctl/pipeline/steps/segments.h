// Random and given document layouts as segment ids.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "maskctl/tensor/tensor.h"

namespace maskctl {

/// Lengths of `docs` documents over `tokens` tokens, each at least 1. The borders are a random set
/// of docs - 1 distinct tokens, uniform to within tokens / 2^32 (Floyd's sampling, with one word of
/// the threefry stream of `seed` each; batch b reads from word b * 2^32 on). 1 <= docs <= tokens.
std::vector<Index> random_lengths(Index tokens, Index docs, std::uint64_t seed, Index batch);

/// out[i] = 1 + a random document in 0 .. docs - 1, from the same stream.
void interleaved_ids(std::span<std::int32_t> out, Index docs, std::uint64_t seed, Index batch);

/// Documents 1, 2, ... of these lengths, then -1.
void ids_of_lengths(std::span<std::int32_t> out, std::span<const Index> lengths);

}  // namespace maskctl
