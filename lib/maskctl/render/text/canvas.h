// A grid of coloured characters, and its text with or without terminal colours.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/base/index.h"

namespace maskctl {

/// Foreground and background are xterm-256 colour numbers; kNoColor is the terminal's own.
inline constexpr std::int16_t kNoColor = -1;

/// The code of the second half of a wide character.
inline constexpr char32_t kTail = 0;

struct Glyph {
  char32_t code = U' ';
  std::int16_t fg = kNoColor;
  std::int16_t bg = kNoColor;
  bool bold = false;
  bool reverse = false;

  /// Whether nothing of the glyph is visible: it is a blank without background.
  bool blank() const { return code == U' ' && bg == kNoColor && !reverse; }
  friend bool operator==(const Glyph&, const Glyph&) = default;
};

/// A grid of glyphs. A wide character takes two glyphs, the second of which is kTail. What is
/// written outside the canvas is ignored, so labels may be cut off at its border.
class Canvas {
 public:
  Canvas() = default;
  Canvas(Index rows, Index columns);

  Index rows() const { return rows_; }
  Index columns() const { return columns_; }
  const Glyph& at(Index row, Index column) const;
  /// The glyph as it is shown: half of a wide character becomes a blank if its other half was
  /// overwritten.
  Glyph shown(Index row, Index column) const;

  void put(Index row, Index column, const Glyph& glyph);
  /// Writes UTF-8 text in the style of `like`; combining marks are left out, and what is not
  /// printable (printable.h) is a '?'.
  void write(Index row, Index column, std::string_view utf8, const Glyph& like = {});
  /// Copies all of `other`, with its upper left corner at (row, column).
  void paste(Index row, Index column, const Canvas& other);

  /// The text as UTF-8, one line per row, each ended by a line feed, without blanks at line ends.
  std::string text() const;
  /// text() with SGR escape sequences where the style changes, and a reset at the end of coloured
  /// lines.
  std::string ansi() const;

 private:
  std::string render(bool styled) const;

  Index rows_ = 0;
  Index columns_ = 0;
  std::vector<Glyph> cells_;
};

/// Number of characters of well-formed UTF-8.
Index utf8_length(std::string_view utf8);
/// Returns the character at text[i] and moves i past it. Broken UTF-8 is returned byte by byte.
char32_t next_code(std::string_view text, std::size_t& i);
/// How many columns a terminal uses for a character: 2 for wide characters, 0 for combining marks,
/// else 1.
Index columns_of(char32_t code);
/// How many columns Canvas::write() takes for a text.
Index text_columns(std::string_view utf8);
void append_utf8(char32_t code, std::string& out);

}  // namespace maskctl
