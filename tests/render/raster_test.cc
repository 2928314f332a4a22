// Pictures as pixels: every cell is seen, blocks are never rounded, and rulers and bands are in
// place.
#include "maskctl/render/picture/raster.h"

#include <map>
#include <random>

#include "maskctl/base/error.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/leaves.h"
#include "maskctl/render/picture/bitmap_font.h"
#include "render/figures.h"
#include "support/catch_compat.h"
#include "support/twin.h"

namespace maskctl {
namespace {

using test::figure_of;

PlanePtr random_plane(Index q, Index k, unsigned seed) {
  std::mt19937 random(seed);
  return twin::plane_of_matrix(twin::matrix(q, k, [&](Index, Index) { return random() % 3 == 0; }));
}

/// The grid of a picture of at most `size` units on each axis, where rare marks are made larger.
InkGrid grid_of(const Figure& figure, Index size) {
  PictureOptions options;
  options.max_size = size;
  options.scale = 1;
  return picture_grids(figure, options).front();
}

/// The grid of such a picture without any mark made larger.
InkGrid exact_grid(const Figure& figure, Index size) {
  const Units units = finest_units(figure);
  return ink_grid(figure, figure.panels.front(),
                  fitting_block(units.rows, units.columns, size, size, 64));
}

/// The colour of the first pixel of each unit.
std::vector<Rgb> unit_colors(const Raster& cells, UnitSize unit) {
  std::vector<Rgb> out;
  for (Index y = 0; y < cells.height; y += unit.height) {
    for (Index x = 0; x < cells.width; x += unit.width) out.push_back(cells.at(x, y));
  }
  return out;
}

std::map<std::uint8_t, Index> ink_counts(const InkGrid& grid) {
  std::map<std::uint8_t, Index> out;
  for (const std::uint8_t number : grid.inks) ++out[number];
  return out;
}

}  // namespace

TEST_CASE("raster: each cell of a small mask is a square of its colour", "[raster]") {
  for (const auto& [q, k] : {std::pair<Index, Index>{7, 5}, {1, 1}, {40, 3}, {3, 40}}) {
    const PlanePtr plane = random_plane(q, k, 5);
    const Figure figure = figure_of(plane);
    const InkGrid grid = exact_grid(figure, 64);
    REQUIRE(grid.rows == q);
    REQUIRE(grid.columns == k);
    CHECK_FALSE(grid.blocks);
    const UnitSize unit = unit_size(figure, grid, {});
    const Raster cells = draw_cells_raster(grid, Palette::kGrey, unit);
    const auto colors = unit_colors(cells, unit);
    REQUIRE(std::ssize(colors) == q * k);
    for (Index i = 0; i < q * k; ++i) {
      const bool open = plane->count({i / k, i / k + 1}, {i % k, i % k + 1}) == 1;
      CHECK(colors[static_cast<std::size_t>(i)] == (open ? Rgb{255, 255, 255} : Rgb{20, 20, 20}));
    }
  }
}

TEST_CASE("raster: a single open or closed cell is visible in blocks of any size", "[raster]") {
  for (const Index n : {Index{100}, Index{1000}, Index{1000000}}) {
    for (const Range at : {Range{0, 1}, Range{n / 2, n / 2 + 1}, Range{n - 1, n}}) {
      const PlanePtr single = rectangle(n, n, at, at);
      const auto opened = ink_counts(exact_grid(figure_of(single), 64));
      const auto closed = ink_counts(exact_grid(figure_of(complement(single)), 64));
      CHECK(opened.size() == 2);
      CHECK(closed.size() == 2);
      CHECK(std::prev(opened.end())->second == 1);
      CHECK(opened.begin()->first == ink::kNone);
      CHECK(closed.begin()->second == 1);
      CHECK(std::prev(closed.end())->first == ink::kAll);
    }
  }
}

TEST_CASE("raster: the ink of a block follows from a count of its cells", "[raster]") {
  const PlanePtr a = random_plane(90, 130, 1), b = random_plane(90, 130, 2);
  const InkGrid grid = exact_grid(figure_of(a, b), 32);
  REQUIRE(grid.blocks);
  REQUIRE(grid.rows <= 32);
  REQUIRE(grid.columns <= 32);
  const PlanePtr only_a = combine(Op::kSub, a, b), only_b = combine(Op::kSub, b, a);
  CHECK(grid.counts.only_a == only_a->count());
  CHECK(grid.counts.only_b == only_b->count());
  CHECK(grid.counts.both == combine(Op::kAnd, a, b)->count());
  for (Index r = 0; r < grid.rows; ++r) {
    for (Index c = 0; c < grid.columns; ++c) {
      const Range q{r * grid.q_step, std::min<Index>((r + 1) * grid.q_step, 90)};
      const Range k{c * grid.k_step, std::min<Index>((c + 1) * grid.k_step, 130)};
      const bool in_a = only_a->count(q, k) > 0, in_b = only_b->count(q, k) > 0;
      const std::uint8_t number = grid.at(r, c);
      CHECK((number == ink::kDiffer) == (in_a && in_b));
      CHECK((number == ink::kOnlyA) == (in_a && !in_b));
      CHECK((number == ink::kOnlyB) == (in_b && !in_a));
    }
  }
}

TEST_CASE("raster: one differing cell of two large masks is visible, drawn larger than it is",
          "[raster]") {
  const Index n = 1 << 20;
  const PlanePtr a = diagonal_band(n, n, -kUnbounded, 0);
  const PlanePtr b = combine(Op::kOr, a, rectangle(n, n, {1000, 1001}, {900000, 900001}));
  CHECK(ink_counts(exact_grid(figure_of(a, b), 512))[ink::kOnlyB] == 1);
  CHECK(ink_counts(exact_grid(figure_of(b, a), 512))[ink::kOnlyA] == 1);
  const InkGrid large = grid_of(figure_of(a, b), 512);
  CHECK(large.counts.only_b == 1);
  CHECK(ink_counts(large)[ink::kOnlyB] == 5 * 9);  // marks of 9 x 9 pixels, cut at the border
}

TEST_CASE("raster: one leak among 2^32 cells is drawn in red; many leaks keep their size",
          "[raster]") {
  const Index n = 1 << 16;
  std::vector<std::int32_t> ids(n, 0);
  std::fill(ids.begin() + n / 2, ids.end(), 1);
  const PlanePtr same = equal_ids(ids, ids, -1, Side::kNone);
  const PlanePtr leaking =
      combine(Op::kOr, same, rectangle(n, n, {n - 9, n - 8}, {n / 4, n / 4 + 1}));
  const InkGrid one = grid_of(test::labelled(leaking, ids, ids), 1024);
  CHECK(one.counts.leaks == 1);
  CHECK(ink_counts(one)[ink::kLeak] == 5 * 9);
  const Raster raster = draw_raster(test::labelled(leaking, ids, ids), {});
  const Rgb red = inks(InkSet::kMask, Palette::kCividis)[ink::kLeak].color;
  Index pixels = 0;
  for (const std::uint8_t pixel : raster.pixels) pixels += raster.palette[pixel] == red;
  CHECK(pixels >= 5 * 9);
  CHECK(ink_counts(grid_of(test::labelled(same, ids, ids), 1024))[ink::kLeak] == 0);
  const InkGrid many = grid_of(test::labelled(full_plane(n, n), ids, ids), 64);
  CHECK(ink_counts(many)[ink::kLeak] == 64 * 64 / 2);
}

TEST_CASE("raster: overlay inks distinguish none, some and all", "[raster]") {
  CHECK(overlay_ink(0, 0, 0, 9) == ink::kNone);
  CHECK(overlay_ink(1, 0, 0, 9) == ink::kBothSome);
  CHECK(overlay_ink(9, 0, 0, 9) == ink::kBothAll);
  CHECK(overlay_ink(8, 1, 0, 9) == ink::kOnlyA);
  CHECK(overlay_ink(0, 9, 0, 9) == ink::kOnlyA);
  CHECK(overlay_ink(0, 0, 8, 9) == ink::kOnlyB);
  CHECK(overlay_ink(0, 0, 9, 9) == ink::kOnlyB);
  CHECK(overlay_ink(5, 1, 1, 9) == ink::kDiffer);
  const Index most = Index{2147483647} * 2147483647;
  CHECK(density_ink(0, most) == ink::kNone);
  CHECK(density_ink(1, most) == 1);
  CHECK(density_ink(most - 1, most) == ink::kAll - 1);
  CHECK(density_ink(most, most) == ink::kAll);
}

TEST_CASE("raster: empty, partial and full tiles are drawn, one or many per pixel", "[raster]") {
  const PlanePtr causal = diagonal_band(1000, 1000, -kUnbounded, 0);
  const TileMap map = tile_map(*causal, 64, 32);
  Figure figure;
  figure.panels.push_back({.tiles = &map});
  const InkGrid alone = exact_grid(figure, 64);
  CHECK(alone.q_step == 64);
  CHECK(alone.k_step == 32);
  auto counts = ink_counts(alone);
  CHECK(counts[ink::kAll] == map.full());
  CHECK(counts[ink::kPartial] == map.partial());
  CHECK(counts[ink::kNone] == map.empty());
  const InkGrid merged = exact_grid(figure, 8);
  REQUIRE(merged.blocks);
  for (Index r = 0; r < merged.rows; ++r) {
    for (Index c = 0; c < merged.columns; ++c) {
      const Fill fill =
          causal->classify({r * merged.q_step, std::min<Index>((r + 1) * merged.q_step, 1000)},
                           {c * merged.k_step, std::min<Index>((c + 1) * merged.k_step, 1000)});
      CHECK(merged.at(r, c) == (fill == Fill::kEmpty  ? ink::kNone
                                : fill == Fill::kFull ? ink::kAll
                                                      : ink::kPartial));
    }
  }
}

TEST_CASE("raster: a part of the tiles is drawn as in the drawing of all tiles", "[raster]") {
  const PlanePtr causal = diagonal_band(1000, 1000, -kUnbounded, 0);
  const TileMap map = tile_map(*causal, 64, 32);
  Figure figure;
  figure.panels.push_back({.tiles = &map});
  const InkGrid all = ink_grid(figure, figure.panels.front(), {1, 1});
  figure.queries = {128, 1000};
  figure.keys = {64, 512};
  const InkGrid part = ink_grid(figure, figure.panels.front(), {1, 1});
  REQUIRE(part.rows == 14);
  REQUIRE(part.columns == 14);
  Index full = 0, partial = 0;
  for (Index r = 0; r < part.rows; ++r) {
    for (Index c = 0; c < part.columns; ++c) {
      CHECK(part.at(r, c) == all.at(r + 2, c + 2));
      full += part.at(r, c) == ink::kAll;
      partial += part.at(r, c) == ink::kPartial;
    }
  }
  CHECK(part.counts.full == full);
  CHECK(part.counts.partial == partial);
  CHECK(part.counts.tile_area == 14 * 14);
  // If a mask is drawn in blocks of whole tiles, as_tiles() makes the same picture as the map of
  // tiles.
  for (const Index step : {1, 3}) {
    Figure mask{.queries = figure.queries, .keys = figure.keys};
    mask.panels.push_back({.plane = causal});
    const InkGrid blocks = ink_grid(mask, mask.panels.front(), {64 * step, 32 * step});
    const InkGrid tiles = as_tiles(blocks, {64, 32});
    const InkGrid expected = ink_grid(figure, figure.panels.front(), {step, step});
    CHECK(tiles.inks == expected.inks);
    CHECK(tiles.blocks == expected.blocks);
    CHECK(tiles.set == expected.set);
  }
  figure.queries = {100, 1000};
  CHECK_THROWS_WITH(check_figure(figure), "queries 100-999 of tiles of 64: expected whole tiles");
}

TEST_CASE("raster: the whole matrix is inside the picture", "[raster]") {
  std::vector<std::int32_t> q(30, 7), k(50, -1);
  std::fill(k.begin() + 5, k.end(), 3);
  Figure figure = test::labelled(random_plane(30, 50, 9), q, k);
  figure.name = "a/very/long/name/" + std::string(300, 'x') + ".npy";
  const InkGrid grid = picture_grids(figure, {}).front();
  const Raster cells = draw_cells_raster(grid, Palette::kCividis, unit_size(figure, grid, {}));
  const Raster whole = draw_raster(figure, {});
  REQUIRE(std::ssize(whole.pixels) == whole.width * whole.height);
  bool found = false;
  for (Index y = 0; y + cells.height <= whole.height && !found; ++y) {
    for (Index x = 0; x + cells.width <= whole.width && !found; ++x) {
      found = true;
      for (Index row = 0; row < cells.height && found; ++row) {
        found = std::equal(cells.pixels.begin() + row * cells.width,
                           cells.pixels.begin() + (row + 1) * cells.width,
                           whole.pixels.begin() + (y + row) * whole.width + x);
      }
    }
  }
  CHECK(found);
  const Rgb band = segment_colors()[kPaddingColor];
  CHECK(std::find(whole.palette.begin(), whole.palette.end(), band) != whole.palette.end());
  CHECK(draw_raster(figure, {}).pixels == whole.pixels);
}

TEST_CASE("raster: masks without cells are drawn, and options out of range refused", "[raster]") {
  CHECK(draw_raster(figure_of(empty_plane(0, 5)), {}).width > 0);
  CHECK(draw_raster(figure_of(empty_plane(0, 0)), {}).width > 0);
  const Figure figure = figure_of(full_plane(4, 6));
  CHECK_THROWS_AS(draw_raster({}, {}), Error);
  for (const Index size : {Index{0}, Index{1}, Index{4097}}) {
    PictureOptions options;
    options.max_size = size;
    CHECK_THROWS_AS(draw_raster(figure, options), Error);
  }
  PictureOptions scaled;
  scaled.scale = -1;
  CHECK_THROWS_AS(draw_raster(figure, scaled), Error);
  CHECK_THROWS_AS(draw_raster(figure_of(full_plane(4, 6), full_plane(6, 4)), {}), Error);
  const std::vector<std::int32_t> ids(5);
  CHECK_THROWS_AS(draw_raster(test::labelled(full_plane(4, 6), ids, {}), {}), Error);
}

TEST_CASE("raster: with a fixed scale every unit has that many pixels", "[raster]") {
  PictureOptions options;
  options.scale = 5;
  options.title = options.axes = options.legend = false;
  const Raster whole = draw_raster(figure_of(full_plane(40, 100)), options);
  CHECK(whole.width >= 500);
  CHECK(whole.height >= 200);
  CHECK(whole.height < 260);
}

TEST_CASE("raster: panels are drawn side by side, with one title and one legend", "[raster]") {
  Figure one = figure_of(full_plane(64, 64)), four = one;
  for (int i = 0; i < 3; ++i) four.panels.push_back({.plane = empty_plane(64, 64)});
  const auto count = [](const Raster& raster, std::uint8_t ink) {
    return std::ranges::count(raster.pixels, ink);
  };
  PictureOptions bare;
  bare.title = bare.axes = bare.legend = false;
  bare.scale = 4;  // no lines between units
  const Raster alone = draw_raster(one, bare), all = draw_raster(four, bare);
  CHECK(count(alone, ink::kAll) == count(all, ink::kAll));
  CHECK(count(all, ink::kNone) == 3 * count(all, ink::kAll));
  CHECK(all.width > 2 * 256);
  CHECK(all.height > 2 * 256);
}

TEST_CASE("raster: every printable character has a glyph of its own", "[raster]") {
  std::map<std::string, char> seen;
  for (char c = ' '; c <= '~'; ++c) {
    std::string dots;
    for (Index row = 0; row < kFontHeight; ++row) {
      for (Index column = 0; column < kFontWidth; ++column) {
        dots += static_cast<char>('0' + font_coverage(c, row, column));
      }
    }
    CAPTURE(c, seen[dots]);
    CHECK(seen[dots] == 0);
    seen[dots] = c;
  }
}

}  // namespace maskctl
