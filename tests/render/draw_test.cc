// Whole drawings: rulers, segment ids, legend, and how they fit into a terminal.
#include "maskctl/render/text/draw.h"

#include <random>
#include <sstream>

#include "maskctl/mask/leaves.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/render/text/term.h"
#include "support/catch_compat.h"
#include "support/error_of.h"
#include "support/twin.h"

namespace maskctl {
namespace {

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

TEST_CASE("a small mask is drawn one to one in half blocks", "[draw]") {
  DrawOptions options;
  options.max_rows = 20;
  options.max_columns = 60;
  options.batch = 1;
  options.head = 3;
  CHECK(draw_text(*causal(9), options) ==
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

TEST_CASE("a mask that does not fit is drawn in shades of square blocks", "[draw]") {
  DrawOptions options;
  options.max_rows = 13;
  options.max_columns = 75;
  CHECK(draw_text(*causal(1024), options) ==
        "1024 queries x 1024 keys, 524800 open (50.0%)\n"
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

TEST_CASE("segment ids are shown in full at their starts, mixed and padding as signs", "[draw]") {
  std::vector<std::int32_t> q(12, 101), k(24, -1);
  std::fill(q.begin() + 5, q.end(), 1);
  std::fill(k.begin(), k.begin() + 7, 101);
  std::fill(k.begin() + 7, k.begin() + 18, 1);
  std::fill(k.begin() + 18, k.begin() + 20, 12345);
  DrawOptions options = bare(Style::kAscii, 0, 80);
  options.q_segments = q;
  options.k_segments = k;
  options.block = BlockSize{2, 2};
  const PlanePtr plane = equal_ids(q, k, -1, Side::kBoth);
  CHECK(draw_text(*plane, options) ==
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

TEST_CASE("a part of a mask keeps its indices", "[draw]") {
  DrawOptions options;
  options.queries = Range{100, 104};
  options.keys = Range{98, 108};
  options.border = false;
  CHECK(draw_text(*causal(1000), options) ==
        "1000 queries x 1000 keys, part 100:104 x 98:108, 18 open (45.0%)\n"
        "    98  102\n"
        "100 ███▄\n"
        "102 █████▄\n"
        "1 char = 2x1 elements; ▀ upper open  ▄ lower open  █ both\n");
}

TEST_CASE("a mask without queries or keys is drawn as empty", "[draw]") {
  CHECK(draw_text(*empty_plane(0, 7), {}) == "(empty)\n");
  CHECK(draw_text(*empty_plane(7, 0), {}) == "(empty)\n");
}

TEST_CASE("the share of open cells is never rounded to none or all", "[draw]") {
  const auto title = [](const PlanePtr& plane) {
    const std::string text = draw_text(*plane, options_for({true, false, 80, 24}));
    return text.substr(0, text.find('\n'));
  };
  const Index n = 100000;
  CHECK(title(empty_plane(n, n)) == "100000 queries x 100000 keys, 0 open (0%)");
  CHECK(title(full_plane(n, n)) == "100000 queries x 100000 keys, 10000000000 open (100%)");
  const PlanePtr one = rectangle(n, n, {7, 8}, {9, 10});
  CHECK(title(one) == "100000 queries x 100000 keys, 1 open (<0.1%)");
  CHECK(title(complement(one)) == "100000 queries x 100000 keys, 9999999999 open (>99.9%)");
}

TEST_CASE("colour adds sequences and changes no glyph of shades", "[draw]") {
  std::vector<std::int32_t> ids(300, 0);
  std::fill(ids.begin() + 128, ids.end(), 1);
  DrawOptions options = bare(Style::kShade, 24, 80);
  options.q_segments = options.k_segments = ids;
  const std::string plain = draw_text(*causal(300), options);
  options.color = true;
  const Canvas canvas = draw(*causal(300), options);
  CHECK(canvas.text() == plain);
  CHECK(draw_text(*causal(300), options) == canvas.ansi());
  CHECK(canvas.ansi().find("\x1b[38;5;178m") != std::string::npos);
  CHECK(canvas.ansi().find("\x1b[38;5;74m") != std::string::npos);
}

TEST_CASE("one open cell in a million is visible in every style", "[draw]") {
  std::mt19937 random(1);
  const Index n = 1000;
  for (Style style : kStyles) {
    for (Index rows : {12, 24, 60}) {
      const DrawOptions options = bare(style, rows, 90);
      const std::string nothing = draw_text(*empty_plane(n, n), options);
      for (int i = 0; i < 12; ++i) {
        const Index q = i == 0 ? 0 : i == 1 ? n - 1 : Index(random() % n);
        const Index k = i == 0 ? n - 1 : i == 1 ? n - 1 : Index(random() % n);
        CHECK(draw_text(*rectangle(n, n, {q, q + 1}, {k, k + 1}), options) != nothing);
      }
    }
  }
}

TEST_CASE("one closed cell in a million is visible in shades and ascii", "[draw]") {
  std::mt19937 random(2);
  const Index n = 1000;
  for (Style style : {Style::kAuto, Style::kShade, Style::kAscii}) {
    const DrawOptions options = bare(style, 24, 80);
    const std::string all = draw_text(*full_plane(n, n), options);
    for (int i = 0; i < 12; ++i) {
      const Index q = i == 0 ? n - 1 : Index(random() % n), k = i == 0 ? 0 : Index(random() % n);
      const PlanePtr plane = complement(rectangle(n, n, {q, q + 1}, {k, k + 1}));
      CHECK(draw_text(*plane, options) != all);
    }
  }
}

TEST_CASE("drawings stay inside their limits", "[draw]") {
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
    options.batch = options.head = between(-1, 1000);
    if (random() % 2 == 0) {
      options.q_segments = q_ids;
      options.k_segments = k_ids;
    }
    if (random() % 3 == 0) options.highlight = full_plane(queries, keys);
    const PlanePtr plane = diagonal_band(queries, keys, -kUnbounded, 0);
    const Canvas canvas = draw(*plane, options);
    CAPTURE(queries, keys, int(options.style), options.max_rows, options.max_columns);
    REQUIRE(canvas.rows() <= options.max_rows);
    REQUIRE(canvas.columns() <= options.max_columns);
    if (options.style != Style::kAscii) continue;
    for (const char c : canvas.text()) REQUIRE(static_cast<unsigned char>(c) < 128);
  }
}

TEST_CASE("refused drawings say what would fit", "[draw]") {
  const auto message = [](const PlanePtr& plane, const DrawOptions& options) {
    return test::error_of([&] { draw(*plane, options); });
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
  const std::vector<std::int32_t> ids(3);
  options = {};
  options.q_segments = ids;
  CHECK(message(causal(4), options) == "3 segment ids along 4 queries: expected one each");
  options = {};
  options.highlight = causal(5);
  CHECK(message(causal(4), options).find("marks of 5 queries x 5 keys") == 0);
  options = {};
  options.keys = Range{2, 9};
  CHECK(message(causal(4), options) == "keys 2:9 to draw: expected a part of 0:4");
}

TEST_CASE("a terminal without UTF-8 gets ascii unless a style is requested", "[draw]") {
  CHECK(choose_style(Style::kAuto, {false, true, 80, 24}) == Style::kAscii);
  CHECK(choose_style(Style::kAuto, {true, true, 80, 24}) == Style::kAuto);
  CHECK(choose_style(Style::kHalf, {false, true, 80, 24}) == Style::kHalf);
  CHECK(options_for({true, true, 100, 30}).max_rows == 29);
  CHECK(options_for({true, true, 100, 30}).max_columns == 100);
}

}  // namespace maskctl
