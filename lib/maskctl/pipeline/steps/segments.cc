// Makes random layouts of documents from the threefry stream.
#include "maskctl/pipeline/steps/segments.h"

#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "maskctl/base/threefry.h"

namespace maskctl {
namespace {

/// Maps a random word to a number in 0 .. n - 1 by multiplication. Each number is hit by floor or
/// ceil of 2^32 / n words, so probabilities differ by a fraction of at most n / 2^32 (1 in 4096 for
/// a million tokens). One word per number keeps positions in the stream fixed.
Index below(Index n, std::uint32_t word) {
  return static_cast<Index>((static_cast<std::uint64_t>(n) * word) >> 32);
}

std::uint64_t first_word(Index batch) { return static_cast<std::uint64_t>(batch) << 32; }

}  // namespace

std::vector<Index> random_lengths(Index tokens, Index docs, std::uint64_t seed, Index batch) {
  const Index borders = docs - 1, gaps = tokens - 1;
  std::vector<std::uint32_t> words(static_cast<std::size_t>(borders));
  random_bits(prng_key(seed), first_word(batch), words);
  std::unordered_set<Index> drawn;
  drawn.reserve(words.size());
  for (Index i = 0; i < borders; ++i) {
    const Index last = gaps - borders + i + 1;
    const Index border = 1 + below(last, words[static_cast<std::size_t>(i)]);
    if (!drawn.insert(border).second) drawn.insert(last);
  }
  std::vector<Index> cuts(drawn.begin(), drawn.end());
  std::sort(cuts.begin(), cuts.end());
  cuts.push_back(tokens);
  std::adjacent_difference(cuts.begin(), cuts.end(), cuts.begin());
  return cuts;
}

void interleaved_ids(std::span<std::int32_t> out, Index docs, std::uint64_t seed, Index batch) {
  constexpr std::size_t kChunk = 4096;
  const ThreefryKey key = prng_key(seed);
  std::uint32_t words[kChunk];
  for (std::size_t begin = 0; begin < out.size(); begin += kChunk) {
    const std::size_t size = std::min(kChunk, out.size() - begin);
    random_bits(key, first_word(batch) + begin, std::span(words, size));
    for (std::size_t i = 0; i < size; ++i) {
      out[begin + i] = static_cast<std::int32_t>(1 + below(docs, words[i]));
    }
  }
}

void ids_of_lengths(std::span<std::int32_t> out, std::span<const Index> lengths) {
  auto at = out.begin();
  std::int32_t id = 0;
  for (const Index length : lengths) at = std::fill_n(at, length, ++id);
  std::fill(at, out.end(), -1);
}

}  // namespace maskctl
