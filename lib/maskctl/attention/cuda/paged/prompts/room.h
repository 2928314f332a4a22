// Prompts over pages: sequences of so many rows that it is worth copying their keys and values out
// of their pages, so that the kernels of softmax/hopper/ attend to them in tiles.
#pragma once

#include "maskctl/attention/problems/paged_arrays.h"

namespace maskctl::attention::cuda {

inline constexpr Index kPromptRows = 32;     // a prompt has at least so many rows
inline constexpr Index kPromptTokens = 128;  // prompts are copied to multiples of so many tokens

/// Copied keys and values take at most this many bytes. If all heads need more, heads are copied in
/// turns.
inline constexpr Index kMostCopiedBytes = Index{1} << 30;

/// The prompts of a call, as far as the host knows them.
struct PromptRoom {
  Index tokens = 0;        // how many copied tokens there is room for; 0: no sequence is a prompt
  bool are_short = false;  // true: tiles of 64 rows suit the prompts better than larger tiles
};

/// Returns how much room copies of the prompts among `problem.sequences` need.
PromptRoom prompt_room(const PagedProblem& problem);
/// The room for prompts whose lengths only the GPU knows. It may be too small for all prompts.
PromptRoom prompt_room(const PagedProblem& problem, const PagedArrays& arrays);

/// How many tokens at the beginning of a prompt's room stay unused: so many that each row and the
/// last key that it sees have the same position within their tiles. `read`: the keys that are read.
constexpr Index prompt_shift(const PagedSequence& s, Range read) {
  const Index shift = (read.begin + s.rows.end - s.keys.end) % kPromptTokens;
  return shift < 0 ? shift + kPromptTokens : shift;
}
/// Returns for how many tokens the copy of a prompt has room.
constexpr Index prompt_tokens(const PagedSequence& s, Range read) {
  return ceil_div(prompt_shift(s, read) + read.size(), kPromptTokens) * kPromptTokens;
}

}  // namespace maskctl::attention::cuda
