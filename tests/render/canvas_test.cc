// The text and the colour sequences that a canvas writes.
#include "maskctl/render/text/canvas.h"

#include "support/catch_compat.h"

namespace maskctl {
namespace {

Glyph colored(char32_t code, std::int16_t fg, std::int16_t bg = kNoColor) {
  Glyph glyph;
  glyph.code = code;
  glyph.fg = fg;
  glyph.bg = bg;
  return glyph;
}

}  // namespace

TEST_CASE("canvas text has no blanks at the end of lines", "[canvas]") {
  Canvas canvas(3, 5);
  canvas.write(0, 1, "a█b");
  canvas.write(2, 3, "wxyz");
  canvas.write(-1, 0, "cut");
  canvas.write(9, 0, "cut");
  CHECK(canvas.text() == " a█b\n\n   wx\n");
  CHECK(canvas.ansi() == canvas.text());
}

TEST_CASE("canvas writes UTF-8 of every length", "[canvas]") {
  Canvas canvas(1, 4);
  const std::string text = "aé█\U0001FB00";
  canvas.write(0, 0, text);
  CHECK(canvas.at(0, 3).code == 0x1FB00);
  CHECK(canvas.text() == text + "\n");
  CHECK(utf8_length(text) == 4);
}

TEST_CASE("canvas replaces invalid UTF-8", "[canvas]") {
  Canvas canvas(1, 8);
  canvas.write(0, 0, "\xF0\x9F");
  canvas.write(0, 1, "\xE2");
  CHECK_FALSE(canvas.text().empty());
}

TEST_CASE("canvas writes no control characters and no marks of text direction", "[canvas]") {
  Canvas canvas(1, 8);
  canvas.write(0, 0, "a\x1b[m\xC2\x9B\xE2\x80\xAE\nb");
  CHECK(canvas.text() == "a?[m???b\n");
}

TEST_CASE("canvas writes colour sequences only where the style changes", "[canvas]") {
  Canvas canvas(2, 6);
  canvas.put(0, 0, colored(U'a', 10));
  canvas.put(0, 1, colored(U'b', 10));
  canvas.put(0, 3, colored(U'c', 10));
  canvas.put(0, 4, colored(U'd', 10, 20));
  canvas.write(1, 0, "plain");
  CHECK(canvas.ansi() == "\x1b[38;5;10mab c\x1b[48;5;20md\x1b[0m\nplain\n");
  CHECK(canvas.text() == "ab cd\nplain\n");
}

TEST_CASE("canvas switches off a single attribute without a reset", "[canvas]") {
  Canvas canvas(1, 3);
  Glyph bold = colored(U'a', 10, 20);
  bold.bold = bold.reverse = true;
  canvas.put(0, 0, bold);
  canvas.put(0, 1, colored(U'b', 10));
  canvas.put(0, 2, colored(U'c', kNoColor, 7));
  CHECK(canvas.ansi() == "\x1b[1;7;38;5;10;48;5;20ma\x1b[22;27;49mb\x1b[39;48;5;7mc\x1b[0m\n");
}

TEST_CASE("coloured canvas keeps blanks with a background at the end of lines", "[canvas]") {
  Canvas canvas(1, 3);
  canvas.put(0, 1, colored(U' ', kNoColor, 7));
  CHECK(canvas.ansi() == " \x1b[48;5;7m \x1b[0m\n");
  CHECK(canvas.text() == "\n");
}

TEST_CASE("canvas paste copies characters and cuts them off at the border", "[canvas]") {
  Canvas small(2, 2), large(2, 3);
  small.write(0, 0, "ab");
  small.write(1, 0, "cd");
  large.paste(1, 2, small);
  CHECK(large.text() == "\n  a\n");
}

}  // namespace maskctl
