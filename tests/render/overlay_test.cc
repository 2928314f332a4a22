// Two masks drawn over each other as text.
#include "maskctl/base/error.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/render/text/draw.h"
#include "render/figures.h"
#include "support/catch_compat.h"

namespace maskctl {
namespace {

DrawOptions in_style(Style style) {
  DrawOptions out;
  out.style = style;
  return out;
}

TEST_CASE("overlay signs say in which of the masks a cell is open", "[overlay]") {
  const PlanePtr a = diagonal_band(4, 4, -1, 0), b = diagonal_band(4, 4, 0, 1);
  CHECK(draw_text(test::figure_of(a, b), in_style(Style::kAscii)) ==
        "4 queries x 4 keys, open in both 4 (25.0%), only in A 3 (18.8%), only in B 3 (18.8%)\n"
        "   0 1 2 3\n"
        "  ++-+-+-+-+\n"
        "0 |##++    |\n"
        "1 |--##++  |\n"
        "2 |  --##++|\n"
        "3 |    --##|\n"
        "  +--------+\n"
        "1 char pair = 1 element; ' ' neither  # both  - only A  + only B\n");
}

TEST_CASE("overlay: a panel that knows its differing cells is not searched again", "[overlay]") {
  const PlanePtr a = diagonal_band(4, 4, -1, 0), b = diagonal_band(4, 4, 0, 1);
  const Figure figure = test::figure_of(a, b);
  Panel panel = figure.panels.front();
  const InkGrid found = ink_grid(figure, panel, {2, 2});
  CHECK(found.counts.both == 4);
  CHECK(found.counts.only_a == 3);
  CHECK(found.counts.only_b == 3);
  panel.different = combine(Op::kXor, a, b);
  CHECK(difference_of(panel) == panel.different);
  CHECK(ink_grid(figure, panel, {2, 2}).inks == found.inks);
}

TEST_CASE("overlay: a pixel with one differing cell shows it; both kinds together are x",
          "[overlay]") {
  const PlanePtr a = diagonal_band(8, 8, -kUnbounded, 0);
  const PlanePtr more = combine(Op::kOr, a, rectangle(8, 8, {0, 1}, {7, 8}));
  const PlanePtr other = combine(Op::kSub, more, rectangle(8, 8, {7, 8}, {0, 1}));
  const PlanePtr moved = combine(Op::kXor, other, rectangle(8, 8, {4, 5}, {4, 6}));
  DrawOptions options = in_style(Style::kHalf);  // overlays are drawn as shade instead
  options.block = BlockSize{2, 2};
  CHECK(draw_text(test::figure_of(a, moved), options) ==
        "8 queries x 8 keys, open in both 34 (53.1%), only in A 2 (3.1%), only in B 2 (3.1%)\n"
        "   0 2 4 6\n"
        "  ┌┴─┴─┴─┴─┐\n"
        "0 ┤░░    ++│\n"
        "2 ┤██░░    │\n"
        "4 ┤████xx  │\n"
        "6 ┤--████░░│\n"
        "  └────────┘\n"
        "1 char pair = 2x2 elements; ' ' neither  ░ some  █ all of both  - some only A  + some "
        "only B  x each has its own\n");
}

TEST_CASE("an overlay is drawn in colours of its own", "[overlay]") {
  DrawOptions options = in_style(Style::kShade);
  options.color = true;
  const Canvas canvas = draw(
      test::figure_of(rectangle(1, 4, {0, 1}, {0, 2}), rectangle(1, 4, {0, 1}, {1, 3})), options);
  const auto color = [](std::uint8_t number) {
    return terminal_color(inks(InkSet::kOverlay, Palette::kCividis)[number].color);
  };
  const Index row = 3, left = 3;
  CHECK(canvas.at(row, left).code == U'-');
  CHECK(canvas.at(row, left).bg == color(ink::kOnlyA));
  CHECK(canvas.at(row, left + 2).fg == color(ink::kBothAll));
  CHECK(canvas.at(row, left + 4).code == U'+');
  CHECK(canvas.at(row, left + 4).bg == color(ink::kOnlyB));
}

TEST_CASE("an overlay of masks with different extents is an error", "[overlay]") {
  CHECK_THROWS_AS(draw_text(test::figure_of(full_plane(4, 4), full_plane(4, 5)), {}), Error);
}

}  // namespace
}  // namespace maskctl
