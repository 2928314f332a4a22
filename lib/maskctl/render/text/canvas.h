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

/// The second half of a wide character.
inline constexpr char32_t kTail = 0;

struct Glyph {
  char32_t code = U' ';
  std::int16_t fg = kNoColor;
  std::int16_t bg = kNoColor;
  bool bold = false;
  bool reverse = false;

  /// True when nothing of it is visible: a blank without background.
  bool blank() const { return code == U' ' && bg == kNoColor && !reverse; }
  friend bool operator==(const Glyph&, const Glyph&) = default;
};

/// A wide character takes two glyphs, of which the second is kTail. Writing outside the canvas is
/// ignored, so labels may be cut off at its border.
class Canvas {
 public:
  Canvas() = default;
  Canvas(Index rows, Index columns);

  Index rows() const { return rows_; }
  Index columns() const { return columns_; }
  const Glyph& at(Index row, Index column) const;
  /// The glyph as it can be shown: a blank for half of a wide character whose other half has been
  /// written over.
  Glyph shown(Index row, Index column) const;

  void put(Index row, Index column, const Glyph& glyph);
  /// Writes the characters of the UTF-8 text, in the style of `like`; marks that combine with the
  /// character before them are left out.
  void write(Index row, Index column, std::string_view utf8, const Glyph& like = {});
  /// Copies all of `other` to row, column.
  void paste(Index row, Index column, const Canvas& other);

  /// UTF-8, one line per row, each ended by a line feed, without blanks at line ends.
  std::string text() const;
  /// text() with SGR sequences at changes of style, and a reset at the end of coloured lines.
  std::string ansi() const;

 private:
  std::string render(bool styled) const;

  Index rows_ = 0;
  Index columns_ = 0;
  std::vector<Glyph> cells_;
};

/// Number of characters of well-formed UTF-8.
Index utf8_length(std::string_view utf8);
/// The character at text[i]; advances i. Broken UTF-8 gives its bytes one by one.
char32_t next_code(std::string_view text, std::size_t& i);
/// Columns that a terminal gives to a character: 2 to wide ones, 0 to those that combine with the
/// one before.
Index columns_of(char32_t code);
/// Columns of a text that Canvas::write() writes.
Index text_columns(std::string_view utf8);
void append_utf8(char32_t code, std::string& out);

}  // namespace maskctl
