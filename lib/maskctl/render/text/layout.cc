#include "maskctl/render/text/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "maskctl/base/error.h"
#include "maskctl/render/figure/words.h"

namespace maskctl {
namespace {

constexpr Index kUnlimited = std::numeric_limits<Index>::max() / 16;
/// Blocks are square, unless the shorter axis would get fewer pixels than this: then its blocks are
/// made smaller.
constexpr Index kEnoughPixels = 8;
/// Labels of keys that take more lines than this are cut.
constexpr Index kMostLabelLines = 8;
/// Panels are placed next to each other if each gets at least this many columns.
constexpr Index kPanelColumns = 38;

/// How many pixels fit along queries and along keys.
struct Room {
  Index q = 0;
  Index k = 0;
  bool holds(Units units, BlockSize block) const {
    return ceil_div(units.rows, block.q) <= q && ceil_div(units.columns, block.k) <= k;
  }
};

Index digits(Index n) { return static_cast<Index>(std::to_string(n).size()); }

void check_limits(const DrawOptions& options) {
  if (options.max_rows < 0 || options.max_columns < 0) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("a drawing of at most {} rows and {} columns: expected 0 (no limit) or "
                            "more",
                            options.max_rows, options.max_columns));
  }
  if (options.block) grid_shape({}, {}, *options.block);
}

/// The number of characters of the longest id among the drawn queries; 0 if there are no ids.
Index widest_id(const Panel& panel, Range drawn, std::int32_t pad_id) {
  if (panel.q_segments.empty()) return 0;
  Index width = 1;
  for (const std::int32_t id :
       panel.q_segments.subspan(as_size(drawn.begin), as_size(drawn.size()))) {
    if (id != pad_id) width = std::max(width, digits(id));
  }
  return width;
}

/// The most lines that title, caption and legend can take, whatever the block size.
Index text_lines(const Figure& figure, const Layout& layout, Index columns) {
  const Panel& panel = figure.panels.front();
  InkGrid grid;
  grid.set = ink_set(panel);
  grid.q = drawn_queries(figure);
  grid.k = drawn_keys(figure);
  const Index area = grid.q.size() * grid.k.size();
  const bool ids = !panel.q_segments.empty() || !panel.k_segments.empty();
  grid.counts = {area, area, area, area, 0, 0, area, area, area};
  if (layout.words.leaks) grid.counts.leaks = area;
  if (layout.words.padding) grid.counts.padding = area;
  Index lines = 0;
  if (layout.options.title) {
    auto words = caption_words(figure, panel, grid);
    // Adds room, because "(>99.9%)" is longer than "(100%)".
    for (std::string& word : words) word += "  ";
    lines += std::ssize(title_lines(figure, columns)) +
             std::ssize(fill_lines(words, 1, layout.options.max_columns));
  }
  grid.blocks = layout.options.block != kOneElement;
  grid.q_step = layout.options.block ? layout.options.block->q : grid.q.size();
  grid.k_step = layout.options.block ? layout.options.block->k : grid.k.size();
  const auto words =
      legend_words(grid, layout.options,
                   {layout.words.leaks, ids, ids, ids, figure.labelled() && !layout.labels()});
  return lines + std::ssize(fill_lines(words, 2, columns));
}

/// The room for cells, in pixels; less than 1 if there is none.
Room room_in(const Figure& figure, const Layout& layout, Index columns) {
  const DrawOptions& options = layout.options;
  const PixelShape shape = pixel_shape(options);
  Room room{kUnlimited, kUnlimited};
  const Index border = options.border ? 1 : 0;
  if (options.max_rows > 0) {
    const Index used = layout.top_lines + border + text_lines(figure, layout, columns);
    room.q = (std::min(options.max_rows, kUnlimited) - used) / shape.lines * shape.rows;
  }
  if (options.max_columns > 0) {
    const Index used = layout.left_columns + border;
    room.k = (std::min(options.max_columns, kUnlimited) - used) / shape.characters * shape.columns;
  }
  return room;
}

Room room_for(const Figure& figure, const Layout& layout, Index columns) {
  const DrawOptions& options = layout.options;
  const Room room = room_in(figure, layout, columns);
  if (room.q < 1 || room.k < 1) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("no room for a drawing in {} rows and {} columns; give more, or leave "
                            "out title and border",
                            options.max_rows, options.max_columns));
  }
  return room;
}

/// Resolves kAuto: half blocks if every element gets a pixel. Overlays and tiles need signs, so
/// they become kShade or kAscii.
Style resolve_style(const Figure& figure, Layout layout, Index columns) {
  const Style requested = layout.options.style;
  if (ink_set(figure.panels.front()) != InkSet::kMask) {
    return requested == Style::kAscii ? Style::kAscii : Style::kShade;
  }
  if (requested != Style::kAuto) return requested;
  layout.options.style = Style::kHalf;
  if (layout.options.block) {
    return *layout.options.block == kOneElement ? Style::kHalf : Style::kShade;
  }
  const bool fits = room_for(figure, layout, columns).holds(finest_units(figure), kOneElement);
  return fits ? Style::kHalf : Style::kShade;
}

/// The layout with labels; absent if there is no room for a line for each query and two columns for
/// each key.
std::optional<Layout> labelled(const Figure& figure, Layout layout, Index columns) {
  DrawOptions& options = layout.options;
  if (!figure.labelled() || tile_size_of(figure.panels.front())) return std::nullopt;
  if (options.block.value_or(kOneElement) != kOneElement) return std::nullopt;
  if (options.style == Style::kAuto) options.style = Style::kShade;
  if (!pixel_shape(options).signs()) return std::nullopt;
  add_labels(figure, kMostLabelLines, layout);
  if (!room_in(figure, layout, columns).holds(finest_units(figure), kOneElement)) {
    return std::nullopt;
  }
  return layout;
}

BlockSize choose_block(const Figure& figure, const Layout& layout, Index columns) {
  const Units units = finest_units(figure);
  const Room room = room_for(figure, layout, columns);
  const BlockSize fit = fitting_block(units.rows, units.columns, room.q, room.k, kEnoughPixels);
  const BlockSize block = layout.options.block.value_or(fit);
  if (room.holds(units, block)) return block;
  throw Error(Errc::kInvalidArgument,
              fmt::format("blocks of {}x{} elements do not fit into {} rows and {} columns; use "
                          "{}x{} or larger, or allow a larger drawing",
                          block.q, block.k, layout.options.max_rows, layout.options.max_columns,
                          fit.q, fit.k));
}

std::string elements(const InkGrid& grid) {
  if (grid.q_step == 1 && grid.k_step == 1) return "1 element";
  return fmt::format("{}x{} elements", grid.q_step, grid.k_step);
}

/// The signs of an entry's inks, such as "░▒▓".
std::string signs(const LegendEntry& entry, const std::vector<Ink>& table,
                  const DrawOptions& options) {
  const bool ascii = options.style == Style::kAscii;
  std::string out;
  for (const std::uint8_t number : entry.inks) {
    std::string sign;
    append_utf8(ascii ? static_cast<char32_t>(table[number].ascii) : table[number].shade, sign);
    if (sign == " ") sign = !options.grid ? "' '" : ascii ? "-" : "·";
    if (!out.ends_with(sign)) out += sign;
  }
  return out;
}

void pixel_words(const InkGrid& grid, const DrawOptions& options, std::vector<std::string>& words) {
  const PixelShape shape = pixel_shape(options.style);
  if (!grid.blocks) {
    words.push_back(fmt::format("1 char = {}x{} elements;", shape.rows, shape.columns));
    if (shape.rows * shape.columns == 2) {
      for (const char* word : {"▀ upper open", "▄ lower open", "█ both"}) words.push_back(word);
    } else {
      words.push_back("1 dot = 1 open element");
    }
    return;
  }
  words.push_back(fmt::format("1 char = {}x{} pixels;", shape.rows, shape.columns));
  words.push_back(fmt::format("1 pixel = {},", elements(grid)));
  switch (options.agg) {
    case Agg::kAny:
      words.push_back("on when any element is open");
      break;
    case Agg::kAll:
      words.push_back("on when all elements are open");
      break;
    case Agg::kMajority:
      words.push_back("on when more than half are open");
      break;
  }
}

}  // namespace

Layout lay_out(const Figure& figure, const DrawOptions& options, DocumentWords words) {
  check_limits(options);
  Layout layout;
  layout.options = options;
  layout.words = words;
  const Range q = drawn_queries(figure);
  const Panel& first = figure.panels.front();
  layout.options.grid &= ink_set(first) != InkSet::kOverlay;
  layout.index_width = digits(q.end - 1);
  for (const Panel& panel : figure.panels) {
    layout.segment_width = std::max(layout.segment_width, widest_id(panel, q, figure.pad_id));
  }
  layout.left_columns =
      layout.index_width + 1 + (layout.segment_width > 0 ? layout.segment_width + 1 : 0);
  layout.top_lines = 1 + (first.k_segments.empty() ? 0 : 1) + (options.border ? 1 : 0);
  if (options.border) ++layout.left_columns;

  const Index columns = options.max_columns;
  const auto panels = static_cast<Index>(figure.panels.size());
  const Index across = std::clamp<Index>(columns / kPanelColumns, 1, panels);
  if (columns > 0) layout.options.max_columns = (columns - (across - 1) * kPanelGap) / across;
  if (auto with_labels = labelled(figure, layout, columns)) {
    layout = *std::move(with_labels);
  } else {
    layout.options.style = resolve_style(figure, layout, columns);
    layout.block = choose_block(figure, layout, columns);
  }
  // The left ruler shows the first query of each line. The last of these numbers may have fewer
  // digits than the last query, for which room was kept.
  const Index step = layout.block.q * pixel_shape(layout.options.style).rows;
  const Index last = q.begin + (q.size() - 1) / step * step;
  layout.left_columns -= layout.index_width - digits(last);
  layout.index_width = digits(last);
  return layout;
}

void add_labels(const Figure& figure, Index most_lines, Layout& layout) {
  const PixelShape shape = pixel_shape(layout.options);
  if (figure.q_labels && figure.q_labels->widest > 0) {
    layout.label_width = figure.q_labels->widest;
    layout.left_columns += layout.label_width + 1;
  }
  if (figure.k_labels && figure.k_labels->widest > 0) {
    const bool level = figure.k_labels->widest < shape.characters;
    layout.label_lines = level ? 1 : std::min(figure.k_labels->widest, most_lines);
    layout.top_lines += layout.label_lines;
  }
}

std::vector<std::string> legend_words(const InkGrid& grid, const DrawOptions& options,
                                      const UsedSigns& used) {
  std::vector<std::string> words;
  const PixelShape shape = pixel_shape(options);
  const bool pairs = shape.signs();
  if (shape.lines > 1) {
    words.push_back(fmt::format("1 square = {};", elements(grid)));
  } else if (pairs) {
    words.push_back(fmt::format("1 char pair = {};", elements(grid)));
  } else {
    pixel_words(grid, options, words);
  }
  const bool red = options.color && options.style == Style::kHalf;
  const std::vector<Ink>& table = inks(grid.set, options.palette);
  for (const LegendEntry& entry : legend_entries(grid.set, grid.blocks, used.leak)) {
    const bool leak = grid.set != InkSet::kOverlay && entry.inks.front() == ink::kLeak;
    if (!pairs && !leak) continue;
    words.push_back((leak && red ? "red" : signs(entry, table, options)) + " " + entry.text);
  }
  if (used.mixed) words.push_back("* several segments");
  if (used.padding) words.push_back("- padding");
  if (used.labels_left_out) words.push_back("no room for tokens");
  if (used.too_long) {
    words.push_back(options.style == Style::kAscii ? "~ id too long here" : "… id too long here");
  }
  return words;
}

}  // namespace maskctl
