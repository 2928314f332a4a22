// Pictures as pixels: every cell is seen, blocks never round, rulers and bands stand where they
// should.
#include "maskctl/render/picture/raster.h"

#include <map>
#include <random>

#include "maskctl/base/error.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/render/figure/axis.h"
#include "maskctl/render/picture/bitmap_font.h"
#include "support/catch_compat.h"
#include "support/twin.h"

namespace maskctl {
namespace {

PlanePtr random_plane(Index q, Index k, unsigned seed) {
  std::mt19937 random(seed);
  return twin::plane_of_matrix(twin::matrix(q, k, [&](Index, Index) { return random() % 3 == 0; }));
}

PictureInput picture_of(PlanePtr plane) {
  PictureInput input;
  input.plane = std::move(plane);
  return input;
}

/// The colour of each unit's first pixel.
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

TEST_CASE("raster: each cell of a small mask has its own square of its colour", "[raster]") {
  for (const auto& [q, k] : {std::pair<Index, Index>{7, 5}, {1, 1}, {40, 3}, {3, 40}}) {
    const PlanePtr plane = random_plane(q, k, 5);
    const InkGrid grid = ink_grid(picture_of(plane), 64, 64);
    REQUIRE(grid.rows == q);
    REQUIRE(grid.columns == k);
    CHECK_FALSE(grid.blocks);
    const UnitSize unit = unit_size(grid, {});
    const Raster cells = draw_cells_raster(grid, Palette::kGrey, unit);
    const auto colors = unit_colors(cells, unit);
    REQUIRE(std::ssize(colors) == q * k);
    for (Index i = 0; i < q * k; ++i) {
      const bool open = plane->count({i / k, i / k + 1}, {i % k, i % k + 1}) == 1;
      CHECK(colors[static_cast<std::size_t>(i)] == (open ? Rgb{255, 255, 255} : Rgb{20, 20, 20}));
    }
  }
}

TEST_CASE("raster: a single open or closed cell shows in blocks of any size", "[raster]") {
  for (const Index n : {Index{100}, Index{1000}, Index{1000000}}) {
    for (const Range at : {Range{0, 1}, Range{n / 2, n / 2 + 1}, Range{n - 1, n}}) {
      const PlanePtr single = rectangle(n, n, at, at);
      const auto opened = ink_counts(ink_grid(picture_of(single), 64, 64));
      const auto closed = ink_counts(ink_grid(picture_of(complement(single)), 64, 64));
      CHECK(opened.size() == 2);
      CHECK(closed.size() == 2);
      CHECK(std::prev(opened.end())->second == 1);
      CHECK(opened.begin()->first == ink::kNone);
      CHECK(closed.begin()->second == 1);
      CHECK(std::prev(closed.end())->first == ink::kMaskAll);
    }
  }
}

TEST_CASE("raster: inks of blocks are those of their counted cells", "[raster]") {
  const PlanePtr a = random_plane(90, 130, 1), b = random_plane(90, 130, 2);
  PictureInput input = picture_of(a);
  input.other = b;
  const InkGrid grid = ink_grid(input, 32, 32);
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
      CHECK((number == ink::kASome || number == ink::kAAll) == (in_a && !in_b));
      CHECK((number == ink::kBSome || number == ink::kBAll) == (in_b && !in_a));
    }
  }
}

TEST_CASE("raster: one differing cell of two equal large masks shows", "[raster]") {
  const Index n = 1 << 20;
  PictureInput input = picture_of(diagonal_band(n, n, -kUnbounded, 0));
  input.other = combine(Op::kOr, input.plane, rectangle(n, n, {1000, 1001}, {900000, 900001}));
  CHECK(ink_counts(ink_grid(input, 512, 512))[ink::kBSome] == 1);
  std::swap(input.plane, input.other);
  CHECK(ink_counts(ink_grid(input, 512, 512))[ink::kASome] == 1);
}

TEST_CASE("raster: overlay inks keep none, some and all apart", "[raster]") {
  CHECK(overlay_ink(0, 0, 0, 9) == ink::kNone);
  CHECK(overlay_ink(1, 0, 0, 9) == ink::kBothSome);
  CHECK(overlay_ink(9, 0, 0, 9) == ink::kBothAll);
  CHECK(overlay_ink(8, 1, 0, 9) == ink::kASome);
  CHECK(overlay_ink(0, 9, 0, 9) == ink::kAAll);
  CHECK(overlay_ink(0, 0, 8, 9) == ink::kBSome);
  CHECK(overlay_ink(0, 0, 9, 9) == ink::kBAll);
  CHECK(overlay_ink(5, 1, 1, 9) == ink::kDiffer);
  const Index most = Index{2147483647} * 2147483647;
  CHECK(density_ink(0, most) == ink::kNone);
  CHECK(density_ink(1, most) == 1);
  CHECK(density_ink(most - 1, most) == ink::kMaskAll - 1);
  CHECK(density_ink(most, most) == ink::kMaskAll);
}

TEST_CASE("raster: tiles are empty, partial and full, alone and many to a pixel", "[raster]") {
  const PlanePtr causal = diagonal_band(1000, 1000, -kUnbounded, 0);
  const TileMap map = tile_map(*causal, 64, 32);
  PictureInput input;
  input.tiles = &map;
  const InkGrid alone = ink_grid(input, 64, 64);
  CHECK(alone.q_step == 64);
  CHECK(alone.k_step == 32);
  auto counts = ink_counts(alone);
  CHECK(counts[ink::kFull] == map.full());
  CHECK(counts[ink::kPartial] == map.partial());
  CHECK(counts[ink::kNone] == map.empty());
  const InkGrid merged = ink_grid(input, 8, 8);
  REQUIRE(merged.blocks);
  for (Index r = 0; r < merged.rows; ++r) {
    for (Index c = 0; c < merged.columns; ++c) {
      const Fill fill =
          causal->classify({r * merged.q_step, std::min<Index>((r + 1) * merged.q_step, 1000)},
                           {c * merged.k_step, std::min<Index>((c + 1) * merged.k_step, 1000)});
      CHECK(static_cast<int>(merged.at(r, c)) == static_cast<int>(fill));
    }
  }
}

TEST_CASE("raster: colours of a set differ from each other", "[raster]") {
  for (Palette palette : {Palette::kCividis, Palette::kViridis, Palette::kGrey}) {
    for (InkSet set : {InkSet::kMask, InkSet::kOverlay, InkSet::kTiles}) {
      const auto colors = ink_colors(set, palette);
      for (std::size_t i = 0; i < colors.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) CHECK_FALSE(colors[i] == colors[j]);
      }
      for (bool blocks : {false, true}) {
        for (const LegendEntry& entry : legend_entries(set, blocks)) {
          for (const std::uint8_t number : entry.inks) CHECK(number < colors.size());
        }
      }
    }
  }
}

TEST_CASE("raster: the matrix stands whole inside the picture", "[raster]") {
  PictureInput input = picture_of(random_plane(30, 50, 9));
  input.name = "a/very/long/name/" + std::string(300, 'x') + ".npy";
  std::vector<std::int32_t> q(30, 7), k(50, -1);
  std::fill(k.begin() + 5, k.end(), 3);
  input.q_segments = q;
  input.k_segments = k;
  const InkGrid grid = ink_grid(input, 1024, 1024);
  const Raster cells = draw_cells_raster(grid, Palette::kCividis, unit_size(grid, {}));
  const Raster whole = draw_raster(input, {});
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
  const Rgb band = segment_colors()[7];
  CHECK(std::find(whole.palette.begin(), whole.palette.end(), band) != whole.palette.end());
  CHECK(draw_raster(input, {}).pixels == whole.pixels);
}

TEST_CASE("raster: masks without cells, options out of range", "[raster]") {
  CHECK(draw_raster(picture_of(empty_plane(0, 5)), {}).width > 0);
  CHECK(draw_raster(picture_of(empty_plane(0, 0)), {}).width > 0);
  const PictureInput input = picture_of(full_plane(4, 6));
  CHECK_THROWS_AS(draw_raster({}, {}), Error);
  for (const Index size : {Index{0}, Index{1}, Index{4097}}) {
    PictureOptions options;
    options.max_size = size;
    CHECK_THROWS_AS(draw_raster(input, options), Error);
  }
  PictureOptions scaled;
  scaled.scale = -1;
  CHECK_THROWS_AS(draw_raster(input, scaled), Error);
  PictureInput other = input;
  other.other = full_plane(6, 4);
  CHECK_THROWS_AS(draw_raster(other, {}), Error);
  PictureInput labelled = input;
  const std::vector<std::int32_t> ids(5);
  labelled.q_segments = ids;
  CHECK_THROWS_AS(draw_raster(labelled, {}), Error);
}

TEST_CASE("raster: a fixed scale makes every unit that many pixels", "[raster]") {
  PictureOptions options;
  options.scale = 5;
  options.title = options.axes = options.legend = false;
  const Raster whole = draw_raster(picture_of(full_plane(40, 100)), options);
  CHECK(whole.width >= 500);
  CHECK(whole.height >= 200);
  CHECK(whole.height < 260);
}

TEST_CASE("raster: ticks are round and few enough", "[raster]") {
  CHECK(tick_step(4096, 16) == 256);
  CHECK(tick_step(1000, 10) == 100);
  CHECK(tick_step(1000, 9) == 200);
  CHECK(tick_step(1000, 2) == 500);
  CHECK(tick_step(9, 100) == 1);
  CHECK(tick_step(1000000, 8) == 200000);
  for (Index extent : {Index{1}, Index{31}, Index{1023}, Index{98304}, Index{2147483647}}) {
    for (Index most : {Index{0}, Index{1}, Index{7}, Index{40}}) {
      CHECK(ceil_div(extent, tick_step(extent, most)) <= std::max<Index>(most, 1));
    }
  }
}

TEST_CASE("raster: bands merge units of equal ids and name mixed ones", "[raster]") {
  const std::vector<std::int32_t> ids = {1, 1, 1, 1, 2, 2, -1, -1, -1};
  CHECK(axis_bands(ids, 1, -1) == std::vector<AxisBand>{{{0, 4}, {SegmentKind::kId, 1}},
                                                        {{4, 6}, {SegmentKind::kId, 2}},
                                                        {{6, 9}, {SegmentKind::kPadding, 0}}});
  CHECK(axis_bands(ids, 3, -1) == std::vector<AxisBand>{{{0, 3}, {SegmentKind::kId, 1}},
                                                        {{3, 6}, {SegmentKind::kMixed, 0}},
                                                        {{6, 9}, {SegmentKind::kPadding, 0}}});
  CHECK(wrapped_text("ab " + std::string(50, 'y') + "z.npy", 10) ==
        std::vector<std::string>{"ab", "...yyz.npy"});
}

TEST_CASE("raster: every printable character has a glyph of its own", "[raster]") {
  std::map<std::string, char> seen;
  for (char c = ' '; c <= '~'; ++c) {
    std::string dots;
    for (Index row = 0; row < kFontHeight; ++row) {
      for (Index column = 0; column < kFontWidth; ++column) {
        dots += font_dot(c, row, column) ? '#' : '.';
      }
    }
    CAPTURE(c, seen[dots]);
    CHECK(seen[dots] == 0);
    seen[dots] = c;
  }
  CHECK(font_text("a\xC3\xA9"
                  "b\n") == "a?b?");
}

}  // namespace maskctl
