// Times and, count and classify on masks of 16384 x 16384, when asked: tests/bench/run.py
// alternates them with numpy_mask_ops.py.
//   bench_ops THREADS    then lines "and structured", "count packed", ... as input; each is
//   answered
//                        with seconds
// First prints what both sides must agree on, as "verify NAME NUMBER" lines, and "ready".
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>

#include "bench.h"
#include "maskctl/base/threads.h"
#include "maskctl/mask/blocks/block_map.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/rows.h"

namespace {

using namespace maskctl;

constexpr Index kSize = 16384, kTile = 128, kDocument = 1000;

std::uint64_t scrambled(std::uint64_t x) {  // mixes the bits of x: splitmix64's finaliser
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// A plane of random cells, some tiles of which are all open or all closed.
PlanePtr irregular(std::uint64_t seed) {
  return stored_rows(kSize, kSize, false, [seed](Range rows, std::span<std::uint64_t> words) {
    constexpr Index kWords = kSize / 64;
    for (Index q = rows.begin; q < rows.end; ++q) {
      for (Index w = 0; w < kWords; ++w) {
        const Index kind = (q / kTile * 7 + w * 64 / kTile * 3) % 4;
        const auto cell = static_cast<std::uint64_t>(q * kWords + w);
        words[static_cast<std::size_t>((q - rows.begin) * kWords + w)] =
            kind == 0   ? 0
            : kind == 1 ? ~std::uint64_t{0}
                        : scrambled(cell + (seed << 32));
      }
    }
  });
}

PlanePtr documents() {
  std::vector<Slab> slabs;
  for (Index begin = 0; begin < kSize; begin += kDocument) {
    const Index end = std::min(kSize, begin + kDocument);
    slabs.push_back({{begin, end}, {{begin, end, 0, 0}}});
  }
  return bands(kSize, kSize, slabs);
}

struct Operands {
  PlanePtr a, b, both;
  Operands(PlanePtr x, PlanePtr y) : a(x), b(y), both(combine(Op::kAnd, x, y)) {}
};

double run(const std::string& name, const Operands& operands) {
  const auto time = [](auto f) { return bench::seconds(f, bench::repeats_for(f, 1e-3)); };
  if (name == "and") {
    return time([&] { bench::keep(combine(Op::kAnd, operands.a, operands.b)); });
  }
  if (name == "count") return time([&] { bench::keep(operands.both->count()); });
  return time([&] { bench::keep(tile_map(*operands.both, kTile, kTile).runs.size()); });
}

}  // namespace

int main(int argc, char** argv) {
  set_threads(argc > 1 ? std::atoi(argv[1]) : 1);
  const std::map<std::string, Operands> kinds = {
      {"structured", Operands(documents(), diagonal_band(kSize, kSize, -kUnbounded, 0))},
      {"packed", Operands(irregular(1), irregular(2))}};
  for (const auto& [kind, operands] : kinds) {
    const TileMap map = tile_map(*operands.both, kTile, kTile);
    std::cout << "verify open-" << kind << ' ' << operands.both->count() << '\n'
              << "verify full-" << kind << ' ' << map.full() << '\n'
              << "verify empty-" << kind << ' ' << map.empty() << '\n';
  }
  std::cout << "ready" << std::endl;
  std::string name, kind;
  while (std::cin >> name >> kind) {
    std::cout.precision(12);
    std::cout << run(name, kinds.at(kind)) << std::endl;
  }
  return 0;
}
