// Labels of tokens along the axes, with hostile texts among them.
#include <sstream>

#include "maskctl/mask/planes/bands.h"
#include "maskctl/render/text/draw.h"
#include "render/figures.h"
#include "support/catch_compat.h"
#include "support/contains.h"

namespace maskctl {
namespace {

using test::contains;

std::string label(std::string_view token) {
  const AxisLabels labels = axis_labels(std::span(&token, 1));
  CHECK(labels.widest == text_columns(labels.texts.front()));
  CHECK(labels.widest <= kMostLabelColumns);
  return labels.texts.front();
}

/// A causal figure with a token for each label; the labels must outlive it.
Figure figure_of(const AxisLabels& labels) {
  const Index n = std::ssize(labels.texts);
  Figure out = test::figure_of(diagonal_band(n, n, -kUnbounded, 0));
  out.q_labels = out.k_labels = &labels;
  return out;
}

AxisLabels words(std::initializer_list<std::string_view> tokens) {
  return axis_labels(std::vector<std::string_view>(tokens));
}

/// The width of each line of a drawing, in columns of the terminal.
std::vector<Index> columns_of_lines(const std::string& drawing) {
  std::istringstream stream(drawing);
  std::vector<Index> out;
  for (std::string line; std::getline(stream, line);) out.push_back(text_columns(line));
  return out;
}

}  // namespace

TEST_CASE("labels are readable for any bytes of a token", "[labels]") {
  CHECK(label("cat") == "cat");
  CHECK(label(" cat sat") == "·cat·sat");
  CHECK(label("").empty());
  CHECK(label("\x1b[2J\t") == "\\x1b[2J\\x09");
  CHECK(label("\xff\xc3") == "\\xff\\xc3");
  CHECK(label("cafe\u0301") == "cafe");
  CHECK(label("猫は") == "猫は");
  CHECK(text_columns("猫は") == 4);
}

TEST_CASE("labels of long tokens are cut between characters", "[labels]") {
  CHECK(label("1234567890123456") == "1234567890123456");
  CHECK(label("12345678901234567") == "123456789012345…");
  CHECK(label("猫猫猫猫猫猫猫猫") == "猫猫猫猫猫猫猫猫");
  CHECK(label("猫猫猫猫猫猫猫猫猫") == "猫猫猫猫猫猫猫…");
  CHECK(label(std::string(100'000, 'x')) == "xxxxxxxxxxxxxxx…");
  std::string marks = "a";
  for (int i = 0; i < 100'000; ++i) marks += "\u0301";
  CHECK(label(marks) == "a…");
}

TEST_CASE("labels are drawn along both axes, one line and two columns per cell", "[labels]") {
  const AxisLabels labels = words({"a", " bc", "猫"});
  DrawOptions options;
  options.title = false;
  CHECK(draw_text(figure_of(labels), options) ==
        "       0 1 2\n"
        "         ·\n"
        "         b\n"
        "       a c 猫\n"
        "      ┌┴─┴─┴─┐\n"
        "0   a ┤██    │\n"
        "1 ·bc ┤████  │\n"
        "2  猫 ┤██████│\n"
        "      └──────┘\n"
        "1 char pair = 1 element; ' ' closed  █ open\n");
  options.style = Style::kAscii;
  const std::string ascii = draw_text(figure_of(labels), options);
  CHECK(contains(ascii, "1 _bc |####"));
  CHECK(std::ranges::all_of(ascii, [](char c) { return static_cast<unsigned char>(c) < 0x80; }));
}

TEST_CASE("labels are left out if there is no room, with a note", "[labels]") {
  std::vector<std::string_view> tokens(40, "token");
  const AxisLabels labels = axis_labels(tokens);
  DrawOptions options;
  for (Index rows = 12; rows <= 60; ++rows) {
    options.max_rows = rows;
    options.max_columns = 100;
    const std::string drawing = draw_text(figure_of(labels), options);
    CHECK(contains(drawing, "no room for tokens") == !contains(drawing, "token ┤"));
    CHECK(std::ssize(columns_of_lines(drawing)) <= rows);
  }
}

TEST_CASE("labels that do not fit the extent of the mask are refused", "[labels]") {
  const AxisLabels three = words({"a", "b", "c"}), two = words({"a", "b"});
  Figure figure = figure_of(three);
  figure.k_labels = &two;
  CHECK_THROWS_WITH(draw(figure, {}), "2 labels along 3 keys: expected one each");
}

TEST_CASE("pixels have the size that was asked for", "[labels]") {
  DrawOptions options;
  options.style = Style::kShade;
  options.title = options.border = false;
  options.pixel_lines = 2;
  const AxisLabels labels = words({"a", "bcd"});
  CHECK(draw_text(figure_of(labels), options) ==
        "      0   1\n"
        "      a   bcd\n"
        "0   a ████\n"
        "      ████\n"
        "1 bcd ████████\n"
        "      ████████\n"
        "1 square = 1 element; ' ' closed  █ open\n");
}

TEST_CASE("canvas: a wide character is drawn whole or not at all", "[canvas]") {
  Canvas canvas(1, 5);
  canvas.write(0, 0, "猫a猫");
  CHECK(canvas.text() == "猫a猫\n");
  canvas.write(0, 1, "x");
  CHECK(canvas.text() == " xa猫\n");
  canvas.write(0, 3, "y");
  CHECK(canvas.text() == " xay\n");
  canvas.write(0, 4, "猫");
  CHECK(canvas.text() == " xay\n");
}

}  // namespace maskctl
