// The characters that each style draws for masks written by hand.
#include <algorithm>

#include "maskctl/mask/planes/bands.h"
#include "maskctl/render/text/draw.h"
#include "render/figures.h"
#include "support/catch_compat.h"
#include "support/twin.h"

namespace maskctl {
namespace {

using Rows = std::vector<std::string>;

const Rows kWide = {"##......",  //
                    "####....",  //
                    "..####..",  //
                    "#......#"};
const Rows kTall = {"#.",  //
                    "##",  //
                    ".#",  //
                    "..",  //
                    "##"};
const Rows kFlat = {"#.#.#",  //
                    "..###"};

PlanePtr plane_of(const Rows& rows) {
  const auto open = [&](Index q, Index k) {
    return rows[static_cast<std::size_t>(q)][static_cast<std::size_t>(k)] == '#';
  };
  return twin::plane_of_matrix(
      twin::matrix(static_cast<Index>(rows.size()), static_cast<Index>(rows.front().size()), open));
}

InkGrid grid_of(const PlanePtr& plane, BlockSize block) {
  const Figure figure = test::figure_of(plane);
  return ink_grid(figure, figure.panels.front(), block);
}

std::string cells(const Rows& rows, Style style, BlockSize block = kOneElement,
                  DrawOptions options = {}) {
  options.style = style;
  return draw_cells(grid_of(plane_of(rows), block), options).text();
}

std::int16_t color_of(std::uint8_t number) {
  return terminal_color(inks(InkSet::kMask, Palette::kCividis)[number].color);
}

}  // namespace

TEST_CASE("rows that are not counted yet are hatched in every style") {
  InkGrid grid = grid_of(plane_of(kTall), kOneElement);
  grid.unknown = {false, false, false, true, false};
  const auto drawn = [&](Style style) {
    DrawOptions options;
    options.style = style;
    options.grid = true;
    return draw_cells(grid, options).text();
  };
  CHECK(drawn(Style::kShade) == "██·\n████\n· ██\n╱╱╱╱\n████\n");
  CHECK(drawn(Style::kAscii) == "##-\n####\n- ##\n////\n####\n");
  CHECK(drawn(Style::kHalf) == "█▄\n╱╱\n▀▀\n");
  CHECK(drawn(Style::kQuadrant) == "▙\n╱\n▀\n");
  CHECK(drawn(Style::kBraille) == "╱\n⠉\n");
}

TEST_CASE("style shade draws each cell two characters wide", "[cells]") {
  CHECK(cells(kWide, Style::kShade) ==
        "████\n"
        "████████\n"
        "    ████████\n"
        "██            ██\n");
  CHECK(cells(kTall, Style::kShade) ==
        "██\n"
        "████\n"
        "  ██\n"
        "\n"
        "████\n");
  CHECK(cells(kFlat, Style::kShade) ==
        "██  ██  ██\n"
        "    ██████\n");
}

TEST_CASE("style shade draws blocks by their density, also smaller ones at the border", "[cells]") {
  CHECK(cells(kWide, Style::kShade, {2, 2}) ==
        "██▒▒\n"
        "░░▒▒▒▒░░\n");
  CHECK(cells(kTall, Style::kShade, {2, 2}) == "▓▓\n░░\n██\n");
  CHECK(cells(kFlat, Style::kShade, {2, 2}) == "░░▓▓██\n");
}

TEST_CASE("style ascii uses five characters", "[cells]") {
  CHECK(cells(kWide, Style::kAscii) ==
        "####\n"
        "########\n"
        "    ########\n"
        "##            ##\n");
  CHECK(cells(kTall, Style::kAscii, {2, 2}) == "++\n..\n##\n");
  CHECK(cells(kFlat, Style::kAscii, {2, 2}) == "..++##\n");
  CHECK(cells(kWide, Style::kAscii, {2, 2}) == "##::\n..::::..\n");
}

TEST_CASE("style half draws two queries per character", "[cells]") {
  CHECK(cells(kWide, Style::kHalf) == "██▄▄\n▄ ▀▀▀▀ ▄\n");
  CHECK(cells(kTall, Style::kHalf) == "█▄\n ▀\n▀▀\n");
  CHECK(cells(kFlat, Style::kHalf) == "▀ █▄█\n");
  CHECK(cells(kWide, Style::kHalf, {2, 2}) == "██▄▄\n");
}

TEST_CASE("style quadrant draws two queries and two keys per character", "[cells]") {
  CHECK(cells(kWide, Style::kQuadrant) == "█▄\n▖▀▀▗\n");
  CHECK(cells(kTall, Style::kQuadrant) == "▙\n▝\n▀\n");
  CHECK(cells(kFlat, Style::kQuadrant) == "▘▙▌\n");
}

TEST_CASE("style braille draws four queries and two keys per character", "[cells]") {
  CHECK(cells(kWide, Style::kBraille) == "⡛⠶⠤⢀\n");
  CHECK(cells(kTall, Style::kBraille) == "⠳\n⠉\n");
  CHECK(cells(kFlat, Style::kBraille) == "⠁⠓⠃\n");
  CHECK(cells({"##", "##", "##", "##"}, Style::kBraille) == "⣿\n");
  CHECK(cells({"..", "..", "..", ".#"}, Style::kBraille) == "⢀\n");
}

TEST_CASE("a block is drawn open if any, all or most of its cells are, as asked", "[cells]") {
  const Rows rows = {"####....",  //
                     "####....",  //
                     "###.#...",  //
                     "##..#..."};
  DrawOptions options;
  const auto half = [&](Agg agg) {
    options.agg = agg;
    return cells(rows, Style::kHalf, {2, 2}, options);
  };
  CHECK(half(Agg::kAny) == "██▄\n");
  CHECK(half(Agg::kAll) == "█▀\n");
  CHECK(half(Agg::kMajority) == "█▀\n");
  options.agg = Agg::kMajority;
  CHECK(cells({"##", "#.", "##", ".."}, Style::kHalf, {2, 2}, options) == "▀\n");
}

TEST_CASE("the option grid draws a dot in cells that are closed", "[cells]") {
  DrawOptions options;
  options.grid = true;
  CHECK(cells(kTall, Style::kShade, kOneElement, options) == "██·\n████\n· ██\n· ·\n████\n");
  CHECK(cells(kTall, Style::kAscii, kOneElement, options) == "##-\n####\n- ##\n- -\n####\n");
  CHECK(cells(kTall, Style::kHalf, kOneElement, options) == "█▄\n·▀\n▀▀\n");
}

TEST_CASE("in colour, style half shows the density of both halves", "[cells]") {
  DrawOptions options;
  options.color = true;
  options.style = Style::kHalf;
  const PlanePtr plane = plane_of({"####", "####", "#...", "...."});
  const Canvas canvas = draw_cells(grid_of(plane, {2, 2}), options);
  CHECK(canvas.at(0, 0).code == U'▀');
  CHECK(canvas.at(0, 0).fg == color_of(density_ink(4, 4)));
  CHECK(canvas.at(0, 0).bg == color_of(density_ink(1, 4)));
  CHECK(canvas.at(0, 1).code == U'▀');
  CHECK(canvas.at(0, 1).bg == kNoColor);
}

TEST_CASE("leaks are drawn with and without colour, in style half for each pixel", "[cells]") {
  const std::vector<std::int32_t> q = {0, 1}, k = {1, 0, 0, 0, 1};
  const Figure figure = test::labelled(plane_of(kFlat), q, k);
  const InkGrid grid = ink_grid(figure, figure.panels.front(), kOneElement);
  CHECK(grid.counts.leaks == 4);
  const auto drawn = [&](Style style, bool color) {
    DrawOptions options;
    options.style = style;
    options.color = color;
    return draw_cells(grid, options);
  };
  CHECK(drawn(Style::kShade, false).text() == "!!  ██  !!\n    !!!!██\n");
  CHECK(drawn(Style::kHalf, false).text() == "! !!!\n");
  CHECK(drawn(Style::kBraille, false).text() == "!!!\n");
  const Canvas half = drawn(Style::kHalf, true);
  CHECK(half.text() == "▀ ▀▄▀\n");
  CHECK(half.at(0, 0).fg == color_of(ink::kLeak));
  CHECK(half.at(0, 2).fg == color_of(ink::kAll));
  CHECK(half.at(0, 2).bg == color_of(ink::kLeak));
  CHECK(half.at(0, 4).fg == color_of(ink::kLeak));
  CHECK(half.at(0, 4).bg == color_of(ink::kAll));
  const Canvas shade = drawn(Style::kShade, true);
  CHECK(shade.at(0, 0).code == U'!');
  CHECK(shade.at(0, 0).bg == color_of(ink::kLeak));
  CHECK(shade.at(0, 4).bg == kNoColor);
}

}  // namespace maskctl
