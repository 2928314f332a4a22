// The glyphs of every style on masks drawn by hand.
#include <algorithm>

#include "maskctl/mask/planes/bands.h"
#include "maskctl/render/text/draw.h"
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

std::string cells(const Rows& rows, Style style, BlockSize block = kOneElement,
                  DrawOptions options = {}) {
  options.style = style;
  return draw_cells(density(*plane_of(rows), block.q, block.k), options).text();
}

}  // namespace

TEST_CASE("shade cells double every element", "[cells]") {
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

TEST_CASE("shade cells of blocks show the density, smaller blocks at the border", "[cells]") {
  CHECK(cells(kWide, Style::kShade, {2, 2}) ==
        "██▒▒\n"
        "░░▒▒▒▒░░\n");
  CHECK(cells(kTall, Style::kShade, {2, 2}) == "▓▓\n░░\n██\n");
  CHECK(cells(kFlat, Style::kShade, {2, 2}) == "░░▓▓██\n");
}

TEST_CASE("ascii cells use five signs", "[cells]") {
  CHECK(cells(kWide, Style::kAscii) ==
        "####\n"
        "########\n"
        "    ########\n"
        "##            ##\n");
  CHECK(cells(kTall, Style::kAscii, {2, 2}) == "++\n..\n##\n");
  CHECK(cells(kFlat, Style::kAscii, {2, 2}) == "..++##\n");
  CHECK(cells(kWide, Style::kAscii, {2, 2}) == "##::\n..::::..\n");
}

TEST_CASE("half cells put two queries into one character", "[cells]") {
  CHECK(cells(kWide, Style::kHalf) == "██▄▄\n▄ ▀▀▀▀ ▄\n");
  CHECK(cells(kTall, Style::kHalf) == "█▄\n ▀\n▀▀\n");
  CHECK(cells(kFlat, Style::kHalf) == "▀ █▄█\n");
  CHECK(cells(kWide, Style::kHalf, {2, 2}) == "██▄▄\n");
}

TEST_CASE("quadrant cells put two queries and two keys into one character", "[cells]") {
  CHECK(cells(kWide, Style::kQuadrant) == "█▄\n▖▀▀▗\n");
  CHECK(cells(kTall, Style::kQuadrant) == "▙\n▝\n▀\n");
  CHECK(cells(kFlat, Style::kQuadrant) == "▘▙▌\n");
}

TEST_CASE("braille cells put four queries and two keys into one character", "[cells]") {
  CHECK(cells(kWide, Style::kBraille) == "⡛⠶⠤⢀\n");
  CHECK(cells(kTall, Style::kBraille) == "⠳\n⠉\n");
  CHECK(cells(kFlat, Style::kBraille) == "⠁⠓⠃\n");
  CHECK(cells({"##", "##", "##", "##"}, Style::kBraille) == "⣿\n");
  CHECK(cells({"..", "..", "..", ".#"}, Style::kBraille) == "⢀\n");
}

TEST_CASE("pixels of blocks follow the aggregation", "[cells]") {
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

TEST_CASE("the grid puts a dot where nothing is open", "[cells]") {
  DrawOptions options;
  options.grid = true;
  CHECK(cells(kTall, Style::kShade, kOneElement, options) == "██·\n████\n· ██\n· ·\n████\n");
  CHECK(cells(kTall, Style::kAscii, kOneElement, options) == "##-\n####\n- ##\n- -\n####\n");
  CHECK(cells(kTall, Style::kHalf, kOneElement, options) == "█▄\n·▀\n▀▀\n");
}

TEST_CASE("coloured half cells show the density of both pixels", "[cells]") {
  DrawOptions options;
  options.color = true;
  options.style = Style::kHalf;
  const PlanePtr plane = plane_of({"####", "####", "#...", "...."});
  const Canvas canvas = draw_cells(density(*plane, 2, 2), options);
  CHECK(canvas.at(0, 0).code == U'▀');
  CHECK(canvas.at(0, 0).fg == density_color(Palette::kCividis, 4, 4));
  CHECK(canvas.at(0, 0).bg == density_color(Palette::kCividis, 1, 4));
  CHECK(canvas.at(0, 1).code == U'▀');
  CHECK(canvas.at(0, 1).bg == kNoColor);
}

TEST_CASE("marked cells show with and without colour, on empty cells too", "[cells]") {
  const auto marked = [](Style style, bool color) {
    DrawOptions options;
    options.style = style;
    options.color = color;
    const DensityGrid marks = density(*rectangle(2, 5, {0, 1}, {0, 2}), 1, 1);
    return draw_cells(density(*plane_of(kFlat), 1, 1), options, &marks);
  };
  CHECK(marked(Style::kShade, false).text() == "!!!!██  ██\n    ██████\n");
  CHECK(marked(Style::kHalf, false).text() == "!!█▄█\n");
  const Canvas colored = marked(Style::kHalf, true);
  CHECK(colored.text() == "▀!█▄█\n");
  CHECK(colored.at(0, 0).fg == 166);
  CHECK(colored.at(0, 1).fg == 166);
}

}  // namespace maskctl
