// Makes segment ids of random and of given layouts of documents.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "maskctl/tensor/tensor.h"

namespace maskctl {

/// Random lengths of `docs` documents that together have `tokens` tokens; each is at least 1. The
/// borders are a random set of docs - 1 distinct positions, uniform to within tokens / 2^32
/// (Floyd's sampling). Each takes one word of the threefry stream of `seed`; batch b uses the words
/// from b * 2^32 on. 1 <= docs <= tokens.
std::vector<Index> random_lengths(Index tokens, Index docs, std::uint64_t seed, Index batch);

/// Gives each token a random document from 1 to docs. Token i of batch b uses word b * 2^32 + i of
/// the threefry stream of `seed`.
void interleaved_ids(std::span<std::int32_t> out, Index docs, std::uint64_t seed, Index batch);

/// Writes ids 1, 2, ... for documents of these lengths, then -1 up to the end.
void ids_of_lengths(std::span<std::int32_t> out, std::span<const Index> lengths);

}  // namespace maskctl
