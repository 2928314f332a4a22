#include "maskctl/render/picture/canvas_svg.h"

#include <fmt/format.h>

#include <utility>

#include "maskctl/render/picture/markup.h"
#include "maskctl/render/picture/sheet.h"

namespace maskctl {
namespace {

constexpr Rgb kInk = {212, 212, 212}, kPaper = {18, 18, 18};
constexpr Index kBaseline = 12;

/// The colours in which a glyph is drawn. If the glyph is reversed, foreground and background are
/// already swapped.
struct Look {
  Rgb ink, paper;
  bool bold = false;
  friend bool operator==(const Look&, const Look&) = default;
};

Look look_of(const Glyph& glyph) {
  Look out{glyph.fg == kNoColor ? kInk : terminal_rgb(glyph.fg),
           glyph.bg == kNoColor ? kPaper : terminal_rgb(glyph.bg), glyph.bold};
  if (glyph.reverse) std::swap(out.ink, out.paper);
  return out;
}

/// A block character: it fills its character cell from `top` on over `height` pixels, with this
/// opacity.
struct Block {
  char32_t code;
  Index top, height;
  const char* opacity;
};
constexpr Block kBlocks[] = {{U'█', 0, kTextHeight, "1"},
                             {U'▀', 0, kTextHeight / 2, "1"},
                             {U'▄', kTextHeight / 2, kTextHeight / 2, "1"},
                             {U'░', 0, kTextHeight, ".25"},
                             {U'▒', 0, kTextHeight, ".5"},
                             {U'▓', 0, kTextHeight, ".75"}};

const Block* block_of(char32_t code) {
  for (const Block& block : kBlocks) {
    if (block.code == code) return &block;
  }
  return nullptr;
}

std::string rect(Index x, Index y, Index width, Index height, Rgb color, const char* opacity) {
  return fmt::format(R"(<rect x="{}" y="{}" width="{}" height="{}" fill="{}" opacity="{}"/>)", x, y,
                     width, height, hex_color(color), opacity) +
         "\n";
}

/// Draws neighbouring glyphs that have the same look.
void draw_run(const Canvas& canvas, Index row, Range columns, std::string& out) {
  const Look look = look_of(canvas.at(row, columns.begin));
  const Index x = columns.begin * kCharWidth, y = row * kTextHeight;
  if (look.paper != kPaper) {
    out += rect(x, y, columns.size() * kCharWidth, kTextHeight, look.paper, "1");
  }
  std::string text;
  bool blank = true;
  for (Index column = columns.begin; column < columns.end; ++column) {
    const char32_t code = canvas.shown(row, column).code;
    if (code == kTail) continue;
    const Block* block = block_of(code);
    append_utf8(block ? U' ' : code, text);
    blank &= block || code == U' ';
    if (!block) continue;
    out += rect(column * kCharWidth, y + block->top, kCharWidth, block->height, look.ink,
                block->opacity);
  }
  if (blank) return;
  out += fmt::format(R"(<text x="{}" y="{}" textLength="{}" fill="{}"{}>{}</text>)", x,
                     y + kBaseline, columns.size() * kCharWidth, hex_color(look.ink),
                     look.bold ? R"( font-weight="bold")" : "", escape_markup(text)) +
         "\n";
}

}  // namespace

std::string svg_of(const Canvas& canvas) {
  const Index width = canvas.columns() * kCharWidth, height = canvas.rows() * kTextHeight;
  std::string out = fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}" )"
      R"(font-family="monospace" font-size="13" xml:space="preserve" )"
      R"(shape-rendering="crispEdges">)"
      "\n",
      width, height);
  out += rect(0, 0, width, height, kPaper, "1");
  for (Index row = 0; row < canvas.rows(); ++row) {
    for (Range run{0, 0}; run.begin < canvas.columns(); run.begin = run.end) {
      const Look look = look_of(canvas.at(row, run.begin));
      run.end = run.begin + 1;
      while (run.end < canvas.columns() && look_of(canvas.at(row, run.end)) == look) ++run.end;
      draw_run(canvas, row, run, out);
    }
  }
  return out + "</svg>\n";
}

}  // namespace maskctl
