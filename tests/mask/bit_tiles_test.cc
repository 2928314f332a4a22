// Transposed tiles of bits, and hashes of rows and columns, against bits read one by one.
#include "maskctl/mask/planes/bit_tiles.h"

#include <array>
#include <random>

#include "maskctl/mask/arrays/segment_ids.h"
#include "maskctl/mask/equal/column_sums.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/words.h"
#include "support/catch_compat.h"
#include "support/twin.h"

namespace maskctl {
namespace {

std::vector<std::uint64_t> random_words(std::size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> words(count);
  for (auto& word : words) word = random();
  return words;
}

bool bit(std::uint64_t word, std::size_t i) { return (word >> i & 1) != 0; }

/// A plane with two columns of equal hash that open different rows. The hash of a column is a sum
/// over blocks of 32 rows of the block's bits times row_factor(block): each column has, in its own
/// block, the bits of the other block's factor, so that both sums are the same product.
PlanePtr colliding_columns(bool as_words) {
  const auto opens = [](Index q, Index k) {
    const std::uint32_t bits = row_factor(1 - q / 32);
    return k < 2 && q / 32 == k && bit(bits, static_cast<std::size_t>(q % 32));
  };
  std::vector<Slab> slabs;
  for (Index q = 0; q < 64; ++q) {
    Slab slab{{q, q + 1}, {}};
    for (Index k = 0; k < 2; ++k) {
      if (opens(q, k)) slab.bands.push_back({2 * k, 2 * k + 1, 0, 0});
    }
    slabs.push_back(slab);
  }
  if (!as_words) return bands(64, 64, slabs);
  return stored_rows(64, 64, true, [&](Range rows, std::span<std::uint64_t> words) {
    for (Index q = rows.begin; q < rows.end; ++q) {
      // Every fourth key is open in all rows, so that rows have many runs and stay words.
      std::uint64_t row = 0x1111111111111000;
      for (Index k = 0; k < 2; ++k) row |= std::uint64_t{opens(q, k)} << (2 * k);
      words[static_cast<std::size_t>(q - rows.begin)] = row;
    }
  });
}

}  // namespace

TEST_CASE("a transposed tile has bit r of column c where row r has bit c", "[bit_tiles]") {
  constexpr std::size_t kStride = 19;
  const auto rows = random_words(kTileRows * kStride, 3);
  std::array<std::uint64_t, kTileSpan> columns;
  transpose_tiles(rows.data() + 5, kStride, columns.data());
  bool equal = true;
  for (std::size_t r = 0; r < kTileRows; ++r) {
    for (std::size_t key = 0; key < 64 * kTileWords; ++key) {
      equal &= bit(columns[tile_slot(key)], r) == bit(rows[5 + r * kStride + key / 64], key % 64);
    }
  }
  CHECK(equal);
}

TEST_CASE("products multiply both halves of a word separately", "[bit_tiles]") {
  const auto columns = random_words(kTileSpan, 5);
  auto sums = random_words(kTileSpan, 6);
  auto expected = sums;
  for (std::size_t i = 0; i < kTileSpan; ++i) {
    expected[i] += (columns[i] & 0xffffffff) * 0xdeadbeef + (columns[i] >> 32) * 0xfeedf00d;
  }
  add_products(columns.data(), 0xdeadbeef, 0xfeedf00d, sums.data());
  CHECK(sums == expected);
}

TEST_CASE("changing any bit of the words changes their hash", "[bit_tiles]") {
  for (const std::size_t n : {1u, 2u, 7u, 8u, 9u, 33u}) {
    const auto random = random_words(n, 7);
    auto words = random_words(n, 8);
    const std::uint64_t hash = hash_words(words, random);
    for (std::size_t i = 0; i < 64 * n; ++i) {
      words[i / 64] ^= std::uint64_t{1} << (i % 64);
      REQUIRE(hash_words(words, random) != hash);
      words[i / 64] ^= std::uint64_t{1} << (i % 64);
    }
    CHECK(hash_words(words, random) == hash);
  }
}

TEST_CASE("column sums do not depend on how the rows are stored", "[column_sums]") {
  std::mt19937 random(9);
  const auto dense = twin::matrix(200, 700, [&](Index, Index) { return random() % 3 == 0; });
  ColumnSums by_runs(700), by_words(700), mixed(700), rest(700);
  for (Index q = 0; q < 200; ++q) {
    std::vector<std::uint64_t> words(static_cast<std::size_t>(words_for(700)));
    for (Index k = 0; k < 700; ++k) {
      words[static_cast<std::size_t>(k / 64)] |= std::uint64_t{dense.get(q, k)} << (k % 64);
    }
    std::vector<Run> runs;
    words_to_runs(words, runs);
    by_runs.add({q, q + 1}, {runs, {}});
    by_words.add({q, q + 1}, {{}, words});
    ColumnSums& part = q < 128 ? mixed : rest;
    part.add({q, q + 1}, q % 2 == 0 ? Keys{runs, {}} : Keys{{}, words});
  }
  mixed.add(rest);
  CHECK_FALSE(by_runs.any_words());
  CHECK(mixed.any_words());
  const auto a = by_runs.columns(), b = by_words.columns(), c = mixed.columns();
  for (std::size_t k = 0; k < 700; ++k) {
    REQUIRE(a[k].hash == b[k].hash);
    REQUIRE(a[k].hash == c[k].hash);
    REQUIRE((a[k].open && b[k].open && c[k].open));
  }
}

TEST_CASE("different columns with equal sums get different ids", "[segment_ids]") {
  for (const bool as_words : {false, true}) {
    const PlanePtr plane = colliding_columns(as_words);
    const auto columns = [&] {
      ColumnSums sums(64);
      plane->rows({0, 64}, [&](Range rows, const Keys& keys) { sums.add(rows, keys); });
      return sums.columns();
    }();
    REQUIRE(columns[0].hash == columns[2].hash);
    const auto ids = segment_ids_of_mask(*plane).second;
    CHECK(ids[0] == 0);
    CHECK(ids[2] == 1);
    CHECK(ids[1] == -1);
  }
}

}  // namespace maskctl
