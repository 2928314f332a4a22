// Times a packed batch of a million tokens on one core: from document ids to a mask with a causal
// window, its count of open cells, and the classes of its tiles.
#include <cstdint>
#include <vector>

#include "bench.h"
#include "maskctl/base/threads.h"
#include "maskctl/mask/blocks/block_map.h"
#include "maskctl/mask/plane.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/leaves.h"

namespace {

using namespace maskctl;

// Document ids of n tokens: `docs` documents of similar but unequal lengths.
std::vector<std::int32_t> packed_ids(Index n, Index docs) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(n));
  for (Index i = 0; i < n; ++i) {
    const Index bent = i + (i / 977) % 7;
    ids[static_cast<std::size_t>(i)] =
        static_cast<std::int32_t>(std::min(docs - 1, bent * docs / n));
  }
  return ids;
}

PlanePtr windowed(const std::vector<std::int32_t>& ids, Index window) {
  const auto n = static_cast<Index>(ids.size());
  return combine(Op::kAnd, equal_ids(ids, ids, -1, Side::kBoth),
                 diagonal_band(n, n, 1 - window, 0));
}

struct Answer {
  Index open = 0, full = 0, partial = 0;
  friend bool operator==(const Answer&, const Answer&) = default;
};

Answer answer(const Plane& plane, Index tile) {
  const TileMap map = tile_map(plane, tile, tile);
  return {plane.count(), map.full(), map.partial()};
}

// The counts that answer() must return, made cell by cell.
Answer slow_answer(const std::vector<std::int32_t>& ids, Index window, Index tile) {
  const auto n = static_cast<Index>(ids.size());
  const auto open = [&](Index q, Index k) {
    return k <= q && q - k < window &&
           ids[static_cast<std::size_t>(q)] == ids[static_cast<std::size_t>(k)];
  };
  Answer sum;
  for (Index q0 = 0; q0 < n; q0 += tile) {
    for (Index k0 = 0; k0 < n; k0 += tile) {
      Index inside = 0, cells = 0;
      for (Index q = q0; q < std::min(n, q0 + tile); ++q) {
        for (Index k = k0; k < std::min(n, k0 + tile); ++k, ++cells) inside += open(q, k);
      }
      sum.open += inside;
      sum.full += inside == cells;
      sum.partial += inside > 0 && inside < cells;
    }
  }
  return sum;
}

}  // namespace

int main() {
  set_threads(1);
  const auto small = packed_ids(3001, 9);
  bench::require(answer(*windowed(small, 200), 128) == slow_answer(small, 200, 128),
                 "tiles of 3001 tokens");

  constexpr Index kTokens = Index{1} << 20, kWindow = 4096, kTile = 128;
  const auto ids = packed_ids(kTokens, 52);
  const PlanePtr documents = equal_ids(ids, ids, -1, Side::kBoth);
  const PlanePtr band = diagonal_band(kTokens, kTokens, 1 - kWindow, 0);
  const PlanePtr mask = windowed(ids, kWindow);

  bench::Times total, build, both, count, classify;
  for (int run = 0; run < 25; ++run) {
    total.runs.push_back(bench::seconds([&] {
      const PlanePtr made = windowed(ids, kWindow);
      bench::keep(made->count());
      bench::keep(tile_map(*made, kTile, kTile).runs.size());
    }));
    build.runs.push_back(
        bench::seconds([&] { bench::keep(equal_ids(ids, ids, -1, Side::kBoth)); }));
    both.runs.push_back(bench::seconds([&] { bench::keep(combine(Op::kAnd, documents, band)); }));
    count.runs.push_back(bench::seconds([&] { bench::keep(mask->count()); }));
    classify.runs.push_back(
        bench::seconds([&] { bench::keep(tile_map(*mask, kTile, kTile).runs.size()); }));
  }
  bench::report("total", total);
  bench::report("build", build);
  bench::report("and", both);
  bench::report("count", count);
  bench::report("classify", classify);
  return 0;
}
