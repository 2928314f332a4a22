#include "maskctl/mask/open_tokens.h"

#include <algorithm>
#include <bit>

namespace maskctl {

Range hull(const Keys& keys) {
  if (!keys.is_words()) {
    return keys.runs.empty() ? Range{} : Range{keys.runs.front().begin, keys.runs.back().end};
  }
  const auto open = [](std::uint64_t word) { return word != 0; };
  const auto first = std::ranges::find_if(keys.words, open);
  if (first == keys.words.end()) return {};
  auto last = keys.words.end() - 1;
  while (*last == 0) --last;
  return {(first - keys.words.begin()) * 64 + std::countr_zero(*first),
          (last - keys.words.begin()) * 64 + 64 - std::countl_zero(*last)};
}

std::vector<Run> open_keys(const Plane& plane) {
  std::vector<Run> runs;
  if (plane.keys() == 0) return runs;
  std::vector<TileRun> tiles;
  plane.tiles({0, plane.queries()}, 1, tiles);  // a tile for each key
  for (const TileRun& tile : tiles) {
    if (!runs.empty() && runs.back().end == tile.first) {
      runs.back().end += tile.count;
    } else {
      runs.push_back({tile.first, tile.first + tile.count});
    }
  }
  return runs;
}

}  // namespace maskctl
