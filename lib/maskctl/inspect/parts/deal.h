// The parts in which ranks, rollouts and samplers compute a mask.
#pragma once

#include <vector>

#include "maskctl/inspect/count/cost.h"
#include "maskctl/inspect/parts/parts.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl {

/// The tokens of one of `ranks` ranks.
Indices tokens_of_rank(Split split, Index tokens, Index ranks, Index rank);

/// The tokens of each part on both sides: rank r in step t has the queries of rank r and the keys
/// of rank r - t (mod ranks); with `all_keys` there is one step, which has all keys.
std::vector<ComputedPart> ring_sides(Split split, Index tokens, Index ranks, bool all_keys);
/// The tokens of each part in a row of [P,S], -1 in places that hold none. Throws
/// Error(kInvalidArgument) for other shapes, and where `kv` has another P.
std::vector<ComputedPart> given_sides(const Tensor& q, const Tensor& kv);
/// Gives each part its batch entry of `mask`, or the declared mask at the tokens that it has.
/// Throws Error(kShape) for another number of parts.
void take_batches(std::vector<ComputedPart>& parts, const Mask& mask);
void take_declared(std::vector<ComputedPart>& parts, const Mask& declared);

/// The rollouts of a tree, whose mask is given: from a root to each leaf, under a causal mask.
std::vector<ComputedPart> rollouts_of(const Mask& tree);
/// The same of lists of tokens [R,S], -1 past the end of each.
std::vector<ComputedPart> rollouts_of(const Tensor& tokens);

/// What a sampler of block diffusion over `tokens` tokens computes, as pairs of its training mask,
/// which has the noised tokens first and the clean ones behind them. "block b": the noised tokens
/// of a block see each other and the clean blocks before. "block b, kept": once clean, the block is
/// computed again for the cache, and sees itself and the blocks before.
std::vector<ComputedPart> sampler_parts(Index tokens, Index size);

}  // namespace maskctl
