// Vectorised inner loops over rows of bits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "maskctl/base/index.h"
#include "maskctl/mask/plane.h"

namespace maskctl {

constexpr Index words_for(Index keys) { return ceil_div(keys, 64); }

/// Sets bit i of `words` to bytes[i] != 0; the rest of the last word is zero.
void pack_bytes(std::span<const std::uint8_t> bytes, std::span<std::uint64_t> words);
/// Sets bytes[i] to bit i of `words`, 0 or 1.
void unpack_bytes(std::span<const std::uint64_t> words, std::span<std::uint8_t> bytes);
/// out = a op b, word by word; `out` may be a or b.
void combine_words(Op op, std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                   std::span<std::uint64_t> out);
Index popcount(std::span<const std::uint64_t> words);
/// The number of set bits in [begin, end).
Index popcount(std::span<const std::uint64_t> words, Range bits);

/// Appends the runs of set bits, in the form of Keys::runs.
void words_to_runs(std::span<const std::uint64_t> words, std::vector<Run>& runs);
/// The keys of a row as runs, converted into `scratch` if the row is words.
std::span<const Run> as_runs(const Keys& keys, std::vector<Run>& scratch);
/// The ranges of nonzero bytes.
std::vector<Run> byte_runs(std::span<const std::uint8_t> bytes);
/// The number of runs of set bits.
Index count_runs(std::span<const std::uint64_t> words);
/// Sets all words to zero, then the bits of the runs to one.
void runs_to_words(std::span<const Run> runs, std::span<std::uint64_t> words);
void set_bits(std::span<std::uint64_t> words, Range bits);
/// Appends the runs of a op b. The runs of each input must ascend without touching.
void combine_runs(Op op, std::span<const Run> a, std::span<const Run> b, std::vector<Run>& out);
/// Appends the runs clipped to `keys`, with `shift` subtracted from both ends.
void clip_runs(std::span<const Run> runs, Range keys, Index shift, std::vector<Run>& out);

}  // namespace maskctl
