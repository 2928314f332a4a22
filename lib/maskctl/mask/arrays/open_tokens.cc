#include "maskctl/mask/arrays/open_tokens.h"

#include <algorithm>

namespace maskctl {

namespace {

constexpr std::size_t kFewRuns = 64;

/// Sets the flags of the keys that any of the rows q sees.
void add_seen(const Plane& plane, Range q, std::vector<std::uint8_t>& seen) {
  std::vector<TileRun> tiles;
  plane.tiles(q, 1, tiles);  // each tile is one key wide
  for (const TileRun& tile : tiles) {
    std::fill_n(seen.begin() + tile.first, tile.count, std::uint8_t{1});
  }
}

/// The maximal ranges in which all flags have this value.
std::vector<Run> runs_of(const std::vector<std::uint8_t>& flags, std::uint8_t value) {
  std::vector<Run> runs;
  for (auto at = flags.begin(); (at = std::find(at, flags.end(), value)) != flags.end();) {
    const auto end = std::find_if(at, flags.end(), [value](auto flag) { return flag != value; });
    runs.push_back({static_cast<std::int32_t>(at - flags.begin()),
                    static_cast<std::int32_t>(end - flags.begin())});
    at = end;
  }
  return runs;
}

/// True if it is certain, at little cost, that the rows q see none of the `unseen` keys.
bool none_left(const Plane& plane, Range q, const std::vector<Run>& unseen) {
  if (unseen.empty() || q.empty()) return true;
  return unseen.size() <= kFewRuns && std::ranges::none_of(unseen, [&](const Run& run) {
           return plane.count(q, {run.begin, run.end}) > 0;
         });
}

}  // namespace

std::vector<Run> open_keys(const Plane& plane) {
  // Reads few rows first: they mostly show all keys that are open anywhere. A single row can have
  // thousands of runs, for example where ids recur.
  std::vector<std::uint8_t> seen(static_cast<std::size_t>(plane.keys()));
  Index rows = 256;
  for (Index q = 0; q < plane.queries() && plane.keys() > 0; q += rows, rows *= 8) {
    const Index end = std::min(q + rows, plane.queries());
    add_seen(plane, {q, end}, seen);
    if (none_left(plane, {end, plane.queries()}, runs_of(seen, 0))) break;
  }
  return runs_of(seen, 1);
}

}  // namespace maskctl
