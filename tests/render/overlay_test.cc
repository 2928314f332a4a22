// Two masks drawn over each other in characters.
#include "maskctl/base/error.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/render/text/draw.h"
#include "support/catch_compat.h"

namespace maskctl {
namespace {

DrawOptions overlay(PlanePtr other, Style style = Style::kAscii) {
  DrawOptions out;
  out.style = style;
  out.other = std::move(other);
  return out;
}

TEST_CASE("overlay signs say which mask a cell is open in", "[overlay]") {
  const PlanePtr a = diagonal_band(4, 4, -1, 0), b = diagonal_band(4, 4, 0, 1);
  CHECK(draw_text(*a, overlay(b)) ==
        "4 queries x 4 keys\n"
        "   0 1 2 3\n"
        "  ++-+-+-+-+\n"
        "0 |##++    |\n"
        "1 |--##++  |\n"
        "2 |  --##++|\n"
        "3 |    --##|\n"
        "  +--------+\n"
        "1 char pair = 1 element; ' ' neither  # both  - only A  + only B\n");
}

TEST_CASE("overlay: one differing element decides its pixel, and both kinds are x", "[overlay]") {
  const PlanePtr a = diagonal_band(8, 8, -kUnbounded, 0);
  const PlanePtr more = combine(Op::kOr, a, rectangle(8, 8, {0, 1}, {7, 8}));
  const PlanePtr other = combine(Op::kSub, more, rectangle(8, 8, {7, 8}, {0, 1}));
  const PlanePtr moved = combine(Op::kXor, other, rectangle(8, 8, {4, 5}, {4, 6}));
  DrawOptions options = overlay(moved, Style::kHalf);  // drawn as shade
  options.block = BlockSize{2, 2};
  CHECK(
      draw_text(*a, options) ==
      "8 queries x 8 keys\n"
      "   0 2 4 6\n"
      "  ┌┴─┴─┴─┴─┐\n"
      "0 ┤░░    ++│\n"
      "2 ┤██░░    │\n"
      "4 ┤████xx  │\n"
      "6 ┤--████░░│\n"
      "  └────────┘\n"
      "1 char pair = 2x2 elements; ' ' neither  ░ some  █ all of both  - only A  + only B  x each "
      "has its own\n");
}

TEST_CASE("overlay has colours of its own", "[overlay]") {
  DrawOptions options = overlay(full_plane(1, 2), Style::kShade);
  options.color = true;
  const std::string text = draw_text(*rectangle(1, 2, {0, 1}, {0, 1}), options);
  CHECK(text.find("38;5;25") != std::string::npos);   // only in B
  CHECK(text.find("38;5;245") != std::string::npos);  // both
  CHECK(text.find("38;5;166") == std::string::npos);  // only in A: none
}

TEST_CASE("overlay of another extent is an error", "[overlay]") {
  CHECK_THROWS_AS(draw_text(*full_plane(4, 4), overlay(full_plane(4, 5))), Error);
}

}  // namespace
}  // namespace maskctl
