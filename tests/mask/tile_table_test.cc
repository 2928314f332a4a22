// Tile tables: the payloads (cells of partly open tiles) that they store, where these can be
// counted by hand, and for a million tokens.
#include <algorithm>
#include <string>

#include "maskctl/base/error.h"
#include "maskctl/base/threads.h"
#include "maskctl/mask/blocks/block_map.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/leaves.h"
#include "support/catch_compat.h"
#include "support/error_of.h"
#include "support/leaf_maker.h"
#include "support/plane_check.h"
#include "support/rounds.h"

namespace {

using namespace maskctl;

constexpr Index kTile = 128;

TileTable table_of(const PlanePtr& plane, Index tile = kTile) {
  return tile_table(*plane, tile, tile, BlockMap::kMaxBytes);
}

Index interval_payloads(const TileTable& table) {
  return std::ssize(table.pools.intervals) / table.pools.rows;
}
Index word_payloads(const TileTable& table) {
  return std::ssize(table.pools.words) / (table.pools.rows * table.pools.words_per_row());
}

/// Causal documents within a window; their lengths repeat until the tokens end.
PlanePtr documents(Index tokens, std::vector<Index> lengths, Index window) {
  std::vector<Slab> slabs;
  for (Index begin = 0, n = 0; begin < tokens; ++n) {
    const Index length = lengths[as_size(n % std::ssize(lengths))];
    const Index end = std::min(begin + length, tokens);
    slabs.push_back({{begin, end}, {{begin, 1, 0, 1}}});
    begin = end;
  }
  return combine(Op::kAnd, bands(tokens, tokens, slabs),
                 diagonal_band(tokens, tokens, -window + 1, 0));
}

TEST_CASE("tile tables of every plane of up to 4 x 4 cells equal the twin, in every tile size") {
  const Index largest = test::largest_enumerated();
  for (Index q = 1; q <= largest; ++q) {
    for (Index k = 1; k <= largest; ++k) {
      std::string first;
      for (unsigned bits = 0; first.empty() && bits < 1U << (q * k); ++bits) {
        const twin::Dense dense =
            twin::matrix(q, k, [&](Index i, Index j) { return (bits >> (i * k + j) & 1) != 0; });
        const PlanePtr plane = twin::plane_of_matrix(dense);
        const Index q_tile = 1 + bits % 5, k_tile = 1 + bits / 5 % 5;
        first = twin::check_tile_tables(*plane, dense, q_tile, k_tile);
        if (first.empty()) first = twin::check_tile_tables(*plane, dense, k_tile, q_tile);
      }
      INFO(q << " x " << k);
      REQUIRE(first == "");
    }
  }
}

TEST_CASE("tile tables of every kind of plane equal the twin, also for large tiles") {
  std::mt19937 random(5);
  const twin::Pick pick = twin::pick_from(random);
  for (int n = 0; n < test::rounds(25) * twin::kLeaves; ++n) {
    const twin::Leaf leaf = static_cast<twin::Leaf>(n % twin::kLeaves);
    const Index q = pick(1, 300), k = pick(1, 400);
    const twin::Pair pair = twin::make_leaf(leaf, pick, q, k);
    INFO(twin::name(leaf) << " number " << n << ", " << q << " x " << k);
    REQUIRE(twin::check_tile_tables(*pair.plane, pair.dense, pick(1, 200), pick(1, 300)) == "");
  }
}

TEST_CASE("tile tables of planes without queries or keys are empty") {
  for (const auto& [q, k] : {std::pair<Index, Index>{0, 5}, {5, 0}, {0, 0}}) {
    const TileTable table = tile_table(*empty_plane(q, k), 4, 4, 1 << 20);
    CHECK(table.tiles.runs.empty());
    CHECK(table.payloads.empty());
    CHECK(key_major(table).tiles.row_offsets.size() == as_size(ceil_div(k, Index{4}) + 1));
  }
}

TEST_CASE("equal payloads of a tile table are stored once") {
  constexpr Index kTokens = 64 * kTile;
  const TileTable causal = table_of(diagonal_band(kTokens, kTokens, -kTokens, 0));
  CHECK(causal.payloads.size() == 64);
  CHECK(interval_payloads(causal) == 1);
  CHECK(word_payloads(causal) == 0);
  // Partial tiles of a window of 200 keys: those on the diagonal, and the two that its left border
  // cuts in each row.
  const TileTable window = table_of(diagonal_band(kTokens, kTokens, -199, 0));
  CHECK(window.payloads.size() == 64 + 63 + 62);
  CHECK(interval_payloads(window) == 3);
  // Documents of a tile and a half: each border lies on an edge or in the middle of a tile.
  const TileTable packed = table_of(documents(kTokens, {kTile * 3 / 2}, kTokens));
  CHECK(interval_payloads(packed) == 4);
  // Every third key is open: rows of many runs, whose pattern moves by 128 % 3 keys from tile to
  // tile.
  const TileTable dilated_table = table_of(dilated(kTokens, kTokens, 3, 0));
  CHECK(dilated_table.payloads.size() == 64 * 64);
  CHECK(interval_payloads(dilated_table) == 0);
  CHECK(word_payloads(dilated_table) == 3);
}

TEST_CASE("the numbers of payloads do not depend on the number of threads") {
  const PlanePtr plane = documents(40000, {333, 1, 90, 1005, 64}, 500);
  set_threads(1);
  const TileTable one = table_of(plane, 16);
  set_threads(0);
  const TileTable many = table_of(plane, 16);
  CHECK(one.payloads == many.payloads);
  CHECK(one.pools.intervals == many.pools.intervals);
  CHECK(one.pools.words == many.pools.words);
}

TEST_CASE("the tile table of a million tokens of packed documents is small, in both orders") {
  constexpr Index kTokens = 1 << 20;
  // Long documents, short documents that differ in every tile, and a mixture.
  for (const auto& lengths : std::vector<std::vector<Index>>{
           {20000}, {101, 89, 97, 127, 113}, {5000, 3, 777, 64000, 150}}) {
    for (const Index tile : {Index{64}, Index{128}}) {
      const TileTable table = table_of(documents(kTokens, lengths, 4096), tile);
      const TileTable by_keys = key_major(table);
      CHECK(table.pools.words.empty());
      CHECK(table.bytes() < Index{64} << 20);
      CHECK(by_keys.bytes() < Index{64} << 20);
      CHECK(by_keys.tiles.full() == table.tiles.full());
      CHECK(by_keys.payloads.size() == table.payloads.size());
    }
  }
}

TEST_CASE("a tile table beyond the limit is refused; its rows can be read one by one") {
  constexpr Index kTokens = 1024;
  const PlanePtr plane = random_plane(kTokens, kTokens, prng_key(1), 0, 0.5F);
  const Index bytes = table_of(plane).bytes();
  CHECK(bytes > kTokens * kTokens / 8);
  CHECK(test::error_of([&] { tile_table(*plane, kTile, kTile, bytes / 2); }) ==
        "blocks of 128 x 128 that are partly open take more than " + std::to_string(bytes / 2) +
            " bytes; take larger blocks or raise the limit");
  TileRowReader reader(kTile, kTile);
  const TileRow row = reader.read(*plane, {kTile, 2 * kTile});
  CHECK(twin::check_tile_row(row, twin::dense_of(*plane), {kTile, 2 * kTile}, kTile) == "");
}

}  // namespace
