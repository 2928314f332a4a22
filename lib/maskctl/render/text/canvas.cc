#include "maskctl/render/text/canvas.h"

#include <fmt/format.h>

#include <clocale>
#include <cwchar>

#include "maskctl/base/printable.h"

namespace maskctl {
namespace {

/// The width of a character by the C library's UTF-8 locale, whatever the locale of the program is.
int width_in_utf8(char32_t code) {
  static const locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  if (utf8 == nullptr) return 1;
  const locale_t before = uselocale(utf8);
  const int width = wcwidth(static_cast<wchar_t>(code));
  uselocale(before);
  return width;
}

bool same_style(const Glyph& a, const Glyph& b) {
  return a.fg == b.fg && a.bg == b.bg && a.bold == b.bold && a.reverse == b.reverse;
}

/// Appends the shortest escape sequence that changes style `from` into style `to`.
void change_style(const Glyph& from, const Glyph& to, std::string& out) {
  if (same_style(to, {})) {
    out += "\x1b[0m";
    return;
  }
  std::string codes;
  auto add = [&](const std::string& code) { codes += (codes.empty() ? "" : ";") + code; };
  if (from.bold != to.bold) add(to.bold ? "1" : "22");
  if (from.reverse != to.reverse) add(to.reverse ? "7" : "27");
  if (from.fg != to.fg) add(to.fg == kNoColor ? "39" : fmt::format("38;5;{}", to.fg));
  if (from.bg != to.bg) add(to.bg == kNoColor ? "49" : fmt::format("48;5;{}", to.bg));
  out += "\x1b[" + codes + "m";
}

}  // namespace

Canvas::Canvas(Index rows, Index columns)
    : rows_(rows), columns_(columns), cells_(static_cast<std::size_t>(rows * columns)) {}

const Glyph& Canvas::at(Index row, Index column) const {
  return cells_[static_cast<std::size_t>(row * columns_ + column)];
}

Glyph Canvas::shown(Index row, Index column) const {
  Glyph out = at(row, column);
  const bool half = out.code == kTail
                        ? column == 0 || columns_of(at(row, column - 1).code) != 2
                        : columns_of(out.code) == 2 &&
                              (column + 1 == columns_ || at(row, column + 1).code != kTail);
  if (half) out.code = U' ';
  return out;
}

void Canvas::put(Index row, Index column, const Glyph& glyph) {
  if (row < 0 || row >= rows_ || column < 0 || column >= columns_) return;
  cells_[static_cast<std::size_t>(row * columns_ + column)] = glyph;
}

void Canvas::write(Index row, Index column, std::string_view utf8, const Glyph& like) {
  Glyph glyph = like;
  for (std::size_t i = 0; i < utf8.size();) {
    glyph.code = next_code(utf8, i);
    if (!is_printable(glyph.code)) glyph.code = U'?';
    const Index columns = columns_of(glyph.code);
    if (columns == 0) continue;
    put(row, column, glyph);
    if (columns == 2) {
      glyph.code = kTail;
      put(row, column + 1, glyph);
    }
    column += columns;
  }
}

void Canvas::paste(Index row, Index column, const Canvas& other) {
  for (Index r = 0; r < other.rows(); ++r) {
    for (Index c = 0; c < other.columns(); ++c) put(row + r, column + c, other.at(r, c));
  }
}

std::string Canvas::text() const { return render(false); }

std::string Canvas::ansi() const { return render(true); }

std::string Canvas::render(bool styled) const {
  std::string out;
  for (Index row = 0; row < rows_; ++row) {
    Index end = columns_;
    const auto is_blank = [&](const Glyph& glyph) {
      return styled ? glyph.blank() : glyph.code == U' ';
    };
    while (end > 0 && is_blank(shown(row, end - 1))) --end;
    Glyph style;
    for (Index column = 0; column < end; ++column) {
      Glyph glyph = shown(row, column);
      if (glyph.code == kTail) continue;
      // The foreground of a blank is invisible, so it need not change.
      if (glyph.code == U' ' && !glyph.reverse) {
        glyph.fg = style.fg;
        glyph.bold = style.bold;
      }
      if (styled && !same_style(style, glyph)) {
        change_style(style, glyph, out);
        style = glyph;
      }
      append_utf8(glyph.code, out);
    }
    if (!same_style(style, {})) out += "\x1b[0m";
    out += '\n';
  }
  return out;
}

Index utf8_length(std::string_view utf8) {
  Index length = 0;
  for (const char c : utf8) length += (static_cast<unsigned char>(c) & 0xC0u) != 0x80u;
  return length;
}

char32_t next_code(std::string_view text, std::size_t& i) {
  const auto lead = static_cast<unsigned char>(text[i++]);
  const int tail = lead < 0xC0 ? 0 : lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
  if (tail == 0) return lead;
  char32_t code = lead & (0x3Fu >> tail);
  for (int n = 0; n < tail && i < text.size(); ++n) {
    code = (code << 6) | (static_cast<unsigned char>(text[i++]) & 0x3Fu);
  }
  return code;
}

Index columns_of(char32_t code) {
  constexpr char32_t kFirstThatCombines = 0x300;
  // Box, block and braille characters, of which drawings are made.
  const bool drawn = (code >= 0x2500 && code < 0x25A0) || (code >= 0x2800 && code < 0x2900);
  if (code < kFirstThatCombines || drawn) return 1;
  const int width = width_in_utf8(code);
  return width < 0 ? 1 : width;
}

Index text_columns(std::string_view utf8) {
  Index out = 0;
  for (std::size_t i = 0; i < utf8.size();) out += columns_of(next_code(utf8, i));
  return out;
}

void append_utf8(char32_t code, std::string& out) {
  auto add = [&](char32_t byte) { out += static_cast<char>(static_cast<unsigned char>(byte)); };
  if (code < 0x80) {
    add(code);
  } else if (code < 0x800) {
    add(0xC0 | (code >> 6));
    add(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    add(0xE0 | (code >> 12));
    add(0x80 | ((code >> 6) & 0x3F));
    add(0x80 | (code & 0x3F));
  } else {
    add(0xF0 | (code >> 18));
    add(0x80 | ((code >> 12) & 0x3F));
    add(0x80 | ((code >> 6) & 0x3F));
    add(0x80 | (code & 0x3F));
  }
}

}  // namespace maskctl
