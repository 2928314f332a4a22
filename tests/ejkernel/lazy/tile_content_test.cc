// Tests that the contents of two tiles (blocks of cells) are equal exactly if their cells are, and
// that tiles whose bands of open keys give the same key have equal contents.
#include "maskctl/ejkernel/lazy/tile_content.h"

#include <map>
#include <random>

#include "maskctl/mask/planes/band_key.h"
#include "maskctl/mask/planes/bands.h"
#include "support/catch_compat.h"
#include "support/twin.h"

using namespace maskctl;
using namespace maskctl::lazy;
using twin::Dense;

namespace {

/// Makes a plane of slabs (ranges of rows), with gaps between them. Each slab has a few bands of
/// open keys, whose edges are vertical or diagonal lines.
PlanePtr random_bands(Index queries, Index keys, std::mt19937& random) {
  const auto below = [&](Index n) {
    return static_cast<Index>(random() % static_cast<std::uint64_t>(n));
  };
  std::vector<Slab> slabs;
  for (Index q = below(4); q < queries;) {
    Slab slab{{q, std::min(queries, q + 1 + below(9))}, {}};
    for (Index bands = below(3); bands >= 0; --bands) {
      const Index begin = below(keys) - below(2) * q;
      slab.bands.push_back({begin, begin + 1 + below(9), random() % 2 == 0, random() % 2 == 0});
    }
    q = slab.q.end + below(3);
    slabs.push_back(std::move(slab));
  }
  return bands(queries, keys, slabs);
}

}  // namespace

TEST_CASE("tiles have equal contents if and only if their cells are equal", "[tile_content]") {
  std::mt19937 random(31);
  for (int round = 0; round < 300; ++round) {
    const Index bq = 1 + static_cast<Index>(random() % 6);
    const Index bk = 1 + static_cast<Index>(random() % (round % 3 == 0 ? 150 : 6));
    const Index rows = 1 + static_cast<Index>(random() % 6), columns = 6;
    const PlanePtr banded = random_bands(rows * bq, columns * bk, random);
    const Dense dense = twin::dense_of(*banded);
    // The same cells are also stored as runs and as bit words.
    const PlanePtr words =
        stored_rows(dense.q, dense.k, true, [&](Range q, std::span<std::uint64_t> out) {
          const auto stride = out.size() / static_cast<std::size_t>(q.size());
          for (Index row = q.begin; row < q.end; ++row) {
            for (Index k = 0; k < dense.k; ++k) {
              auto& word = out[static_cast<std::size_t>(row - q.begin) * stride +
                               static_cast<std::size_t>(k / 64)];
              if (k % 64 == 0) word = 0;
              if (dense.get(row, k)) word |= std::uint64_t{1} << (k % 64);
            }
          }
        });
    const std::vector<PlanePtr> planes = {banded, twin::plane_of_matrix(dense), words};
    std::map<std::vector<std::uint8_t>, TileContent> of_cells;
    std::map<TileContent, std::vector<std::uint8_t>> of_content;
    std::map<BandKey, TileContent> of_lines;
    const std::vector<std::int32_t> all = {0, 1, 2, 3, 4, 5};
    for (Index row = 0; row < rows; ++row) {
      const Range q{row * bq, (row + 1) * bq};
      for (const PlanePtr& plane : planes) {
        const std::vector<TileContent> contents = tile_contents(*plane, q, bk, all);
        for (Index column = 0; column < columns; ++column) {
          const Range k{column * bk, (column + 1) * bk};
          const TileContent& content = contents[static_cast<std::size_t>(column)];
          const Dense cells = twin::sliced(dense, q, k);
          REQUIRE(of_cells.try_emplace(cells.cells, content).first->second == content);
          REQUIRE(of_content.try_emplace(content, cells.cells).first->second == cells.cells);
          BandKey key;
          band_key(*slabs_of(*banded), q, k, key);
          REQUIRE(of_lines.try_emplace(key, content).first->second == content);
        }
      }
    }
  }
}

TEST_CASE("tile contents store bits if these take less room than runs", "[tile_content]") {
  const Dense stripes = twin::matrix(2, 128, [](Index, Index k) { return k % 2 == 0; });
  const std::int32_t column = 0;
  const std::vector<TileContent> contents =
      tile_contents(*twin::plane_of_matrix(stripes), {0, 2}, 128, {&column, 1});
  REQUIRE(contents.front() == TileContent{2, -1, 0x55555555, 0x55555555, 0x55555555, 0x55555555});
}

TEST_CASE("all inner tiles along a diagonal have the same key", "[tile_content]") {
  const PlanePtr plane = diagonal_band(64, 64, -16, 0);
  BandKey first, key;
  band_key(*slabs_of(*plane), {24, 32}, {24, 32}, first);
  // `first` is the key of tile 3 of the diagonal. Only in tiles 0 and 1 does the edge of the mask
  // cut the band of open keys.
  for (Index tile = 4; tile < 8; ++tile) {
    const Range at{tile * 8, tile * 8 + 8};
    band_key(*slabs_of(*plane), at, at, key);
    REQUIRE(key == first);
  }
}
