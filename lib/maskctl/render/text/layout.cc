#include "maskctl/render/text/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "maskctl/base/error.h"
#include "maskctl/render/text/labels.h"

namespace maskctl {
namespace {

constexpr Index kUnlimited = std::numeric_limits<Index>::max() / 16;
constexpr Index kMaxBlock = std::numeric_limits<std::int32_t>::max();
/// The shorter axis gets at least this many pixels before blocks are made square.
constexpr Index kEnoughPixels = 8;

/// How many pixels fit on both axes.
struct Room {
  Index q = 0;
  Index k = 0;
  bool holds(Range queries, Range keys, BlockSize block) const {
    return ceil_div(queries.size(), block.q) <= q && ceil_div(keys.size(), block.k) <= k;
  }
};

Index digits(Index n) { return static_cast<Index>(std::to_string(n).size()); }

void check_part(const char* what, Range part, Index extent) {
  if (part.begin < 0 || part.end > extent || part.begin > part.end) {
    throw Error(Errc::kInvalidArgument, fmt::format("{} {}:{} to draw: expected a part of 0:{}",
                                                    what, part.begin, part.end, extent));
  }
}

void check(const Plane& plane, const DrawOptions& options, const Layout& layout) {
  check_part("queries", layout.q, plane.queries());
  check_part("keys", layout.k, plane.keys());
  check_segments("queries", options.q_segments.size(), plane.queries());
  check_segments("keys", options.k_segments.size(), plane.keys());
  if (options.highlight && (options.highlight->queries() != plane.queries() ||
                            options.highlight->keys() != plane.keys())) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("marks of {} queries x {} keys on a mask of {} x {}: expected equal "
                            "extents",
                            options.highlight->queries(), options.highlight->keys(),
                            plane.queries(), plane.keys()));
  }
  if (options.other &&
      (options.other->queries() != plane.queries() || options.other->keys() != plane.keys())) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("an overlay of {} x {} on a mask of {} x {}: expected equal extents",
                            options.other->queries(), options.other->keys(), plane.queries(),
                            plane.keys()));
  }
  if (options.max_rows < 0 || options.max_columns < 0) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("a drawing of at most {} rows and {} columns: expected 0 (no limit) or "
                            "more",
                            options.max_rows, options.max_columns));
  }
  const BlockSize block = options.block.value_or(kOneElement);
  if (block.q < 1 || block.k < 1 || block.q > kMaxBlock || block.k > kMaxBlock) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("a block of {}x{} elements: expected 1 to {} on each axis", block.q,
                            block.k, kMaxBlock));
  }
}

/// The most lines that title and legend can take, whatever the block.
Index text_lines(const Plane& plane, const Layout& layout) {
  const DrawOptions& options = layout.options;
  DensityGrid grid{layout.q, layout.k, 1, 1, 0, 0, {}};
  grid.open = {layout.q.size() * layout.k.size()};
  Index lines = 0;
  if (options.title) {
    auto words = title_words(plane, grid, options);
    words.back() += "  ";  // "(>99.9%)" is longer than "(100%)"
    lines += static_cast<Index>(fill_lines(words, 1, options.max_columns).size());
  }
  const bool ids = !options.q_segments.empty() || !options.k_segments.empty();
  const BlockSize block{std::max<Index>(layout.q.size(), 2), std::max<Index>(layout.k.size(), 2)};
  const auto words = legend_words(options, options.block.value_or(block),
                                  {ids, ids, ids, options.highlight != nullptr});
  return lines + static_cast<Index>(fill_lines(words, 2, options.max_columns).size());
}

Room room_for(const Plane& plane, const Layout& layout) {
  const DrawOptions& options = layout.options;
  const PixelShape shape = pixel_shape(options.style);
  Room room{kUnlimited, kUnlimited};
  if (options.max_rows > 0) {
    const Index used = layout.top_lines + (options.border ? 1 : 0) + text_lines(plane, layout);
    room.q = (std::min(options.max_rows, kUnlimited) - used) * shape.rows;
  }
  if (options.max_columns > 0) {
    const Index used = layout.left_columns + (options.border ? 1 : 0);
    room.k = (std::min(options.max_columns, kUnlimited) - used) / shape.characters * shape.columns;
  }
  if (room.q < 1 || room.k < 1) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("no room for a drawing in {} rows and {} columns; give more, or leave "
                            "out title and border",
                            options.max_rows, options.max_columns));
  }
  return room;
}

/// Halves the step of an axis that has too few pixels, as long as they fit.
Index refine(Index step, Index extent, Index room) {
  while (step > 1 && ceil_div(extent, step) < kEnoughPixels && ceil_div(extent, step / 2) <= room) {
    step /= 2;
  }
  return step;
}

BlockSize choose_block(Range q, Range k, Room room) {
  const Index step =
      std::max(round_step(ceil_div(q.size(), room.q)), round_step(ceil_div(k.size(), room.k)));
  return {refine(step, q.size(), room.q), refine(step, k.size(), room.k)};
}

/// kAuto becomes half blocks if every element gets a pixel.
Style resolve_style(const Plane& plane, Layout layout) {
  const Style requested = layout.options.style;
  if (requested != Style::kAuto) return requested;
  layout.options.style = Style::kHalf;
  if (layout.options.block) {
    return *layout.options.block == kOneElement ? Style::kHalf : Style::kShade;
  }
  const bool fits = room_for(plane, layout).holds(layout.q, layout.k, {1, 1});
  return fits ? Style::kHalf : Style::kShade;
}

}  // namespace

void check_segments(const char* what, std::size_t ids, Index extent) {
  if (ids != 0 && ids != static_cast<std::size_t>(extent)) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("{} segment ids along {} {}: expected one each", ids, extent, what));
  }
}

Index round_step(Index n) {
  Index step = 1;
  while (step < n) step *= 2;
  return step >= 4 && step / 4 * 3 >= n ? step / 4 * 3 : step;
}

Layout lay_out(const Plane& plane, const DrawOptions& options) {
  Layout layout;
  layout.options = options;
  layout.q = options.queries.value_or(Range{0, plane.queries()});
  layout.k = options.keys.value_or(Range{0, plane.keys()});
  check(plane, options, layout);
  if (layout.q.empty() || layout.k.empty()) return layout;

  layout.index_width = digits(layout.q.end - 1);
  if (!options.q_segments.empty()) {
    layout.segment_width = widest_id(options.q_segments, layout.q, options.pad_id);
  }
  layout.left_columns =
      layout.index_width + 1 + (layout.segment_width > 0 ? layout.segment_width + 1 : 0);
  layout.top_lines = 1 + (options.k_segments.empty() ? 0 : 1) + (options.border ? 1 : 0);
  if (options.border) ++layout.left_columns;

  layout.options.style = resolve_style(plane, layout);
  const Room room = room_for(plane, layout);
  layout.block = options.block.value_or(choose_block(layout.q, layout.k, room));
  if (!room.holds(layout.q, layout.k, layout.block)) {
    const BlockSize fit = choose_block(layout.q, layout.k, room);
    throw Error(Errc::kInvalidArgument,
                fmt::format("blocks of {}x{} elements do not fit into {} rows and {} columns; use "
                            "{}x{} or larger, or allow a larger drawing",
                            layout.block.q, layout.block.k, options.max_rows, options.max_columns,
                            fit.q, fit.k));
  }
  // The first query of the last line may have fewer digits than the last query.
  const Index step = layout.block.q * pixel_shape(layout.options.style).rows;
  const Index last = layout.q.begin + (layout.q.size() - 1) / step * step;
  layout.left_columns -= layout.index_width - digits(last);
  layout.index_width = digits(last);
  return layout;
}

}  // namespace maskctl
