// Whole text drawings: rulers, segment ids, legend, and how they fit into a terminal.
#include "maskctl/render/text/draw.h"

#include <random>
#include <sstream>

#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/leaves.h"
#include "maskctl/render/text/term.h"
#include "render/figures.h"
#include "support/catch_compat.h"
#include "support/error_of.h"
#include "support/twin.h"

namespace maskctl {
namespace {

using test::figure_of;
using test::labelled;

constexpr Style kStyles[] = {Style::kAuto,    Style::kShade,    Style::kHalf,
                             Style::kBraille, Style::kQuadrant, Style::kAscii};

PlanePtr causal(Index n) { return diagonal_band(n, n, -kUnbounded, 0); }

DrawOptions bare(Style style, Index rows, Index columns) {
  DrawOptions options;
  options.style = style;
  options.max_rows = rows;
  options.max_columns = columns;
  options.title = false;
  return options;
}

}  // namespace

TEST_CASE("a small mask is drawn cell by cell in half blocks", "[draw]") {
  DrawOptions options;
  options.max_rows = 20;
  options.max_columns = 60;
  Figure figure = figure_of(causal(9));
  figure.name = "m.npy | causal";
  figure.panels.front().name = "batch 1, head 3";
  CHECK(draw_text(figure, options) ==
        "m.npy | causal\n"
        "batch 1, head 3: 9 queries x 9 keys, 45 open (55.6%)\n"
        "   0 2 4 6 8\n"
        "  ┌┴─┴─┴─┴─┴┐\n"
        "0 ┤█▄       │\n"
        "2 ┤███▄     │\n"
        "4 ┤█████▄   │\n"
        "6 ┤███████▄ │\n"
        "8 ┤▀▀▀▀▀▀▀▀▀│\n"
        "  └─────────┘\n"
        "1 char = 2x1 elements; ▀ upper open  ▄ lower open  █ both\n");
}

TEST_CASE("a mask that does not fit is drawn in shades, in square blocks", "[draw]") {
  DrawOptions options;
  options.max_rows = 13;
  options.max_columns = 75;
  CHECK(draw_text(figure_of(causal(1024)), options) ==
        "1024 queries x 1024 keys, 524,800 open (50.0%)\n"
        "     0   256 512 768\n"
        "    ┌┴───┴───┴───┴───┐\n"
        "  0 ┤▒▒              │\n"
        "128 ┤██▒▒            │\n"
        "256 ┤████▒▒          │\n"
        "384 ┤██████▒▒        │\n"
        "512 ┤████████▒▒      │\n"
        "640 ┤██████████▒▒    │\n"
        "768 ┤████████████▒▒  │\n"
        "896 ┤██████████████▒▒│\n"
        "    └────────────────┘\n"
        "1 char pair = 128x128 elements; ' ' none  ░ <1/3  ▒ <2/3  ▓ <all  █ all\n");
}

TEST_CASE("the first unit of a segment shows its id; mixed units and padding have signs",
          "[draw]") {
  std::vector<std::int32_t> q(12, 101), k(24, -1);
  std::fill(q.begin() + 5, q.end(), 1);
  std::fill(k.begin(), k.begin() + 7, 101);
  std::fill(k.begin() + 7, k.begin() + 18, 1);
  std::fill(k.begin() + 18, k.begin() + 20, 12345);
  DrawOptions options = bare(Style::kAscii, 0, 80);
  options.block = BlockSize{2, 2};
  const PlanePtr plane = equal_ids(q, k, -1, Side::kBoth);
  CHECK(draw_text(labelled(plane, q, k), options) ==
        "        0   4   8   12  16  20\n"
        "        101   * 1         ~ -\n"
        "       ++---+---+---+---+---+---+\n"
        " 0 101 |######::                |\n"
        " 2     |######::                |\n"
        " 4   * |::::::::::::::::::      |\n"
        " 6   1 |      ::##########      |\n"
        " 8     |      ::##########      |\n"
        "10     |      ::##########      |\n"
        "       +------------------------+\n"
        "1 char pair = 2x2 elements; ' ' none  . <1/3  : <2/3  + <all  # all\n"
        "* several segments  - padding  ~ id too long here\n");
}

TEST_CASE("a drawing of a part of a mask keeps the indices of queries and keys", "[draw]") {
  DrawOptions options;
  options.border = false;
  Figure figure = figure_of(causal(1000));
  figure.queries = Range{100, 104};
  figure.keys = Range{98, 108};
  CHECK(draw_text(figure, options) ==
        "1000 queries x 1000 keys, part 100-103 x 98-107, 18 open (45.0%)\n"
        "    98  102\n"
        "100 ███▄\n"
        "102 █████▄\n"
        "1 char = 2x1 elements; ▀ upper open  ▄ lower open  █ both\n");
}

TEST_CASE("a mask without queries or keys is drawn as empty", "[draw]") {
  CHECK(draw_text(figure_of(empty_plane(0, 7)), {}) == "(empty)\n");
  CHECK(draw_text(figure_of(empty_plane(7, 0)), {}) == "(empty)\n");
}

TEST_CASE("the printed share of open cells is 0% or 100% only if that is exact", "[draw]") {
  const auto title = [](const PlanePtr& plane) {
    const std::string text = draw_text(figure_of(plane), options_for({true, false, 80, 24}));
    return text.substr(0, text.find('\n'));
  };
  const Index n = 100000;
  CHECK(title(empty_plane(n, n)) == "100,000 queries x 100,000 keys, 0 open (0%)");
  CHECK(title(full_plane(n, n)) == "100,000 queries x 100,000 keys, 10,000,000,000 open (100%)");
  const PlanePtr one = rectangle(n, n, {7, 8}, {9, 10});
  CHECK(title(one) == "100,000 queries x 100,000 keys, 1 open (<0.1%)");
  CHECK(title(complement(one)) == "100,000 queries x 100,000 keys, 9,999,999,999 open (>99.9%)");
}

TEST_CASE("colour adds sequences and changes no character of style shade", "[draw]") {
  std::vector<std::int32_t> ids(300, 0);
  std::fill(ids.begin() + 128, ids.end(), 1);
  DrawOptions options = bare(Style::kShade, 24, 80);
  const Figure figure = labelled(equal_ids(ids, ids, -1, Side::kNone), ids, ids);
  const std::string plain = draw_text(figure, options);
  options.color = true;
  const Canvas canvas = draw(figure, options);
  CHECK(canvas.text() == plain);
  CHECK(draw_text(figure, options) == canvas.ansi());
  CHECK(canvas.ansi().find("\x1b[38;5;178m") != std::string::npos);
  CHECK(canvas.ansi().find("\x1b[38;5;74m") != std::string::npos);
}

TEST_CASE("one open cell in a million is visible in every style", "[draw]") {
  std::mt19937 random(1);
  const Index n = 1000;
  for (Style style : kStyles) {
    for (Index rows : {12, 24, 60}) {
      const DrawOptions options = bare(style, rows, 90);
      const std::string nothing = draw_text(figure_of(empty_plane(n, n)), options);
      for (int i = 0; i < 12; ++i) {
        const Index q = i == 0 ? 0 : i == 1 ? n - 1 : Index(random() % n);
        const Index k = i == 0 ? n - 1 : i == 1 ? n - 1 : Index(random() % n);
        CHECK(draw_text(figure_of(rectangle(n, n, {q, q + 1}, {k, k + 1})), options) != nothing);
      }
    }
  }
}

TEST_CASE("one closed cell in a million is visible in shades and ascii", "[draw]") {
  std::mt19937 random(2);
  const Index n = 1000;
  for (Style style : {Style::kAuto, Style::kShade, Style::kAscii}) {
    const DrawOptions options = bare(style, 24, 80);
    const std::string all = draw_text(figure_of(full_plane(n, n)), options);
    for (int i = 0; i < 12; ++i) {
      const Index q = i == 0 ? n - 1 : Index(random() % n), k = i == 0 ? 0 : Index(random() % n);
      const PlanePtr plane = complement(rectangle(n, n, {q, q + 1}, {k, k + 1}));
      CHECK(draw_text(figure_of(plane), options) != all);
    }
  }
}

TEST_CASE("drawings keep to their limits of rows and columns", "[draw]") {
  std::mt19937 random(3);
  const auto between = [&](Index low, Index high) {
    return low + Index(random() % std::uint64_t(high - low + 1));
  };
  for (int round = 0; round < 400; ++round) {
    const Index scale = round % 4 == 0 ? 30 : round % 4 == 1 ? 300 : round % 4 == 2 ? 5000 : 200000;
    const Index queries = between(1, scale), keys = between(1, scale);
    std::vector<std::int32_t> q_ids, k_ids;
    const Index length = between(1, scale);
    for (Index i = 0; i < queries; ++i) q_ids.push_back(std::int32_t(i / length * 1001 - 1));
    for (Index i = 0; i < keys; ++i) k_ids.push_back(std::int32_t(i / length * 1001 - 1));
    DrawOptions options;
    options.style = kStyles[random() % 6];
    options.max_rows = between(18, 70);
    options.max_columns = between(45, 150);
    options.border = random() % 4 != 0;
    options.title = random() % 4 != 0;
    options.color = random() % 2 == 0;
    options.agg = Agg(random() % 3);
    const PlanePtr plane = diagonal_band(queries, keys, -kUnbounded, 0);
    Figure figure = random() % 2 == 0 ? labelled(plane, q_ids, k_ids) : figure_of(plane);
    if (random() % 2 == 0) figure.name = std::string(std::size_t(between(1, 200)), '\xE9');
    if (random() % 3 == 0) figure.panels.front().other = full_plane(queries, keys);
    const Canvas canvas = draw(figure, options);
    CAPTURE(queries, keys, int(options.style), options.max_rows, options.max_columns);
    REQUIRE(canvas.rows() <= options.max_rows);
    REQUIRE(canvas.columns() <= options.max_columns);
    if (options.style != Style::kAscii) continue;
    for (const char c : canvas.text()) REQUIRE(static_cast<unsigned char>(c) < 128);
  }
}

TEST_CASE("the error about a drawing that does not fit says what would fit", "[draw]") {
  const auto message = [](const PlanePtr& plane, const DrawOptions& options) {
    return test::error_of([&] { draw(figure_of(plane), options); });
  };
  DrawOptions options = bare(Style::kShade, 24, 80);
  options.block = BlockSize{16, 16};
  CHECK(message(causal(1024), options) ==
        "blocks of 16x16 elements do not fit into 24 rows and 80 columns; use 64x64 or larger, or "
        "allow a larger drawing");
  options.block = BlockSize{64, 64};
  CHECK(message(causal(1024), options) == "no error");
  options.block = BlockSize{0, 1};
  CHECK(message(causal(4), options).find("a block of 0x1 elements") == 0);
  CHECK(message(causal(4), bare(Style::kAuto, 4, 80)).find("no room for a drawing") == 0);
  CHECK(message(causal(4), bare(Style::kAuto, 24, 3)).find("no room for a drawing") == 0);
  CHECK(message(causal(4), bare(Style::kAuto, -1, 3)).find("a drawing of at most -1 rows") == 0);
  CHECK(message(causal(1000000), {}) != "no error");
  const auto refused = [](const Figure& figure) {
    return test::error_of([&] { draw(figure, {}); });
  };
  const std::vector<std::int32_t> ids(3);
  CHECK(refused(labelled(causal(4), ids, {})) ==
        "3 segment ids along 4 queries: expected one each");
  CHECK(refused(figure_of(causal(4), causal(5))).find("masks of 4 queries x 4 keys and 5 x 5") ==
        0);
  Figure part = figure_of(causal(4));
  part.keys = Range{2, 9};
  CHECK(refused(part) == "keys 2-8 to draw: expected a part of 0-3");
  CHECK(refused({}) == "a figure without panels");
}

TEST_CASE("a unit with a leak has the sign of a leak in every style", "[draw]") {
  const Index n = 1 << 16;
  std::vector<std::int32_t> ids(n, 0);
  std::fill(ids.begin() + n / 2, ids.end(), 1);
  const PlanePtr same = equal_ids(ids, ids, -1, Side::kNone);
  const Range q{n - 5, n - 4}, k{7, 8};
  const PlanePtr leaking = combine(Op::kOr, same, rectangle(n, n, q, k));
  for (const Style style : kStyles) {
    DrawOptions options = bare(style, 24, 80);
    options.title = true;
    const std::string sound = draw_text(labelled(same, ids, ids), options);
    CHECK(sound.find('!') == std::string::npos);
    CHECK(sound.find("leak") == std::string::npos);
    const std::string text = draw_text(labelled(leaking, ids, ids), options);
    CHECK(text.find(", 1 leak\n") != std::string::npos);
    CHECK(text.find("! leak") != std::string::npos);
    const Index signs = std::count(text.begin(), text.end(), '!') - 1;
    CHECK(signs == pixel_shape(style == Style::kAuto ? Style::kShade : style).characters);
    options.color = true;
    const Canvas red = draw(labelled(leaking, ids, ids), options);
    const auto color = terminal_color(inks(InkSet::kMask, Palette::kCividis)[ink::kLeak].color);
    Index cells = 0;
    for (Index row = 0; row < red.rows(); ++row) {
      for (Index column = 0; column < red.columns(); ++column) {
        const Glyph& glyph = red.at(row, column);
        cells += glyph.fg == color || glyph.bg == color;
      }
    }
    CHECK(cells == signs);
  }
}

TEST_CASE("open cells of padding are no leaks; leaks need ids of queries and keys", "[draw]") {
  const std::vector<std::int32_t> ids = {0, 1, -1};
  const auto caption = [](const Figure& figure) {
    const std::string text = draw_text(figure, {});
    return text.substr(0, text.find('\n'));
  };
  CHECK(caption(labelled(full_plane(3, 3), ids, ids)) ==
        "3 queries x 3 keys, 9 open (100%), 2 leaks, 5 cells of padding");
  CHECK(caption(labelled(full_plane(3, 3), ids, {})) == "3 queries x 3 keys, 9 open (100%)");
  Figure other_padding = labelled(full_plane(3, 3), ids, ids);
  other_padding.pad_id = 0;
  CHECK(caption(other_padding) == "3 queries x 3 keys, 9 open (100%), 2 leaks, 5 cells of padding");
}

TEST_CASE("panels are drawn side by side, with one title, ruler and legend", "[draw]") {
  Figure figure = figure_of(causal(4));
  figure.name = "heads.npy";
  figure.panels.front().name = "heads 0-1, 3";
  figure.panels.push_back({.plane = full_plane(4, 4), .name = "head 2"});
  DrawOptions options;
  options.max_columns = 80;
  CHECK(draw_text(figure, options) ==
        "heads.npy\n"
        "heads 0-1, 3:\n"
        "4 queries x 4 keys,   head 2: 4 queries x 4 keys,\n"
        "10 open (62.5%)       16 open (100%)\n"
        "   0 2                   0 2\n"
        "  ┌┴─┴─┐                ┌┴─┴─┐\n"
        "0 ┤█▄  │              0 ┤████│\n"
        "2 ┤███▄│              2 ┤████│\n"
        "  └────┘                └────┘\n"
        "1 char = 2x1 elements; ▀ upper open  ▄ lower open  █ both\n");
  options.max_columns = 40;
  const Canvas below = draw(figure, options);
  CHECK(below.columns() <= 40);
  CHECK(below.rows() > 12);
}

TEST_CASE("long titles are cut in the middle and control characters are escaped", "[draw]") {
  Figure figure = figure_of(full_plane(2, 2));
  figure.name = "a-very-long-name-of-a-file.npy | causal | \x1B[31mred";
  DrawOptions options;
  options.max_columns = 30;
  options.style = Style::kAscii;
  const std::string text = draw_text(figure, options);
  CHECK(text.substr(0, text.find('\n')) == "a-very-long-na...| \\x1b[31mred");
}

TEST_CASE("a terminal without UTF-8 gets ascii unless a style is given", "[draw]") {
  CHECK(choose_style(Style::kAuto, {false, true, 80, 24}) == Style::kAscii);
  CHECK(choose_style(Style::kAuto, {true, true, 80, 24}) == Style::kAuto);
  CHECK(choose_style(Style::kHalf, {false, true, 80, 24}) == Style::kHalf);
  CHECK(options_for({true, true, 100, 30}).max_rows == 29);
  CHECK(options_for({true, true, 100, 30}).max_columns == 100);
}

}  // namespace maskctl
