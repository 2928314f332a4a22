// The parents of the tokens of a tree, however it is described; private to mask.
#pragma once

#include <cstdint>
#include <vector>

#include "maskctl/mask/steps/guess.h"
#include "maskctl/mask/steps/tree.h"

namespace maskctl::step {

using TreeTokens = std::vector<std::int32_t>;
inline constexpr std::int32_t kRoot = -1;
inline constexpr std::int32_t kOutside = -2;  // the parent of a token in no tree

/// The parents of the tokens of each batch entry; `tokens` is the number of keys of the mask.
/// Throws what tree.h says.
std::vector<TreeTokens> parents_of(const Tree& rule, Index tokens);

/// tin and tout of every token, made of parents: an Euler tour. TreeTokens in no tree have an empty
/// interval.
struct Tour {
  TreeTokens tin, tout;
};
Tour tour_of(const TreeTokens& parents);

/// The tree that the rows of a square plane show, as stretches, if it forks: a line is causal,
/// lines are documents.
std::vector<Chain> guesses(const Tree*, const SampledRows& rows);

}  // namespace maskctl::step
