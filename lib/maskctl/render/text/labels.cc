#include "maskctl/render/text/labels.h"

#include <fmt/format.h>

#include <algorithm>

namespace maskctl {
namespace {

constexpr Index kMaxTicks = 8;

std::string elements(BlockSize block) {
  return block == kOneElement ? "1 element" : fmt::format("{}x{} elements", block.q, block.k);
}

void density_words(const DrawOptions& options, BlockSize block, std::vector<std::string>& words) {
  const bool ascii = options.style == Style::kAscii;
  words.push_back(fmt::format("1 char pair = {};", elements(block)));
  const std::string blank = options.grid ? (ascii ? "-" : "·") : "' '";
  if (block == kOneElement) {
    words.push_back(blank + " closed");
    words.push_back(ascii ? "# open" : "█ open");
    return;
  }
  words.push_back(blank + " none");
  words.push_back(ascii ? ". <1/3" : "░ <1/3");
  words.push_back(ascii ? ": <2/3" : "▒ <2/3");
  words.push_back(ascii ? "+ <all" : "▓ <all");
  words.push_back(ascii ? "# all" : "█ all");
}

void overlay_words(const DrawOptions& options, BlockSize block, std::vector<std::string>& words) {
  const bool ascii = options.style == Style::kAscii;
  words.push_back(fmt::format("1 char pair = {};", elements(block)));
  words.push_back("' ' neither");
  if (block != kOneElement) words.push_back(ascii ? ". some" : "░ some");
  words.push_back(
      fmt::format("{} {}both", ascii ? "#" : "█", block == kOneElement ? "" : "all of "));
  words.push_back("- only A");
  words.push_back("+ only B");
  if (block != kOneElement) words.push_back("x each has its own");
}

void pixel_words(const DrawOptions& options, BlockSize block, std::vector<std::string>& words) {
  const PixelShape shape = pixel_shape(options.style);
  if (block == kOneElement) {
    words.push_back(fmt::format("1 char = {}x{} elements;", shape.rows, shape.columns));
    if (shape.rows * shape.columns == 2) {
      for (const char* word : {"▀ upper open", "▄ lower open", "█ both"}) words.push_back(word);
    } else {
      words.push_back("1 dot = 1 open element");
    }
    return;
  }
  words.push_back(fmt::format("1 char = {}x{} pixels;", shape.rows, shape.columns));
  words.push_back(fmt::format("1 pixel = {},", elements(block)));
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

std::string percent_text(Index open, Index area) {
  if (open == 0) return "0%";
  if (open == area) return "100%";
  const double share = 100.0 * static_cast<double>(open) / static_cast<double>(area);
  if (share < 0.1) return "<0.1%";
  if (share > 99.9) return ">99.9%";
  return fmt::format("{:.1f}%", share);
}

Index tick_every(Index units, Index room, Index width) {
  Index every = 1;
  while (every * room < width || ceil_div(units, every) > kMaxTicks) every *= 2;
  return every;
}

std::vector<SegmentLabel> segment_labels(std::span<const std::int32_t> ids, Range range, Index step,
                                         std::int32_t pad_id) {
  std::vector<SegmentLabel> labels;
  for (Index begin = range.begin; begin < range.end; begin += step) {
    const Index size = std::min(step, range.end - begin);
    const auto part = ids.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(size));
    const std::int32_t id = part.front();
    if (!std::all_of(part.begin(), part.end(), [&](std::int32_t i) { return i == id; })) {
      labels.push_back({SegmentKind::kMixed, 0});
    } else if (id == pad_id) {
      labels.push_back({SegmentKind::kPadding, 0});
    } else {
      labels.push_back({SegmentKind::kId, id});
    }
  }
  return labels;
}

std::string label_text(const SegmentLabel& label) {
  if (label.kind == SegmentKind::kMixed) return "*";
  return label.kind == SegmentKind::kPadding ? "-" : std::to_string(label.id);
}

bool label_fits(const SegmentLabel& label, const SegmentLabel* next, Index room) {
  const auto length = static_cast<Index>(label_text(label).size());
  const bool apart =
      next == nullptr || label.kind == SegmentKind::kMixed || next->kind == SegmentKind::kMixed;
  return length + (apart ? 0 : 1) <= room;
}

Index widest_id(std::span<const std::int32_t> ids, Range range, std::int32_t pad_id) {
  std::int32_t low = 0, high = 0;
  for (Index i = range.begin; i < range.end; ++i) {
    const std::int32_t id = ids[static_cast<std::size_t>(i)];
    if (id == pad_id) continue;
    low = std::min(low, id);
    high = std::max(high, id);
  }
  const auto width = [](std::int32_t id) { return static_cast<Index>(std::to_string(id).size()); };
  return std::max(low < 0 ? width(low) : 1, width(high));
}

std::vector<std::string> title_words(const Plane& plane, const DensityGrid& grid,
                                     const DrawOptions& options) {
  std::vector<std::string> words;
  if (options.batch >= 0 && options.head >= 0) {
    words.push_back(fmt::format("batch {}, head {}:", options.batch, options.head));
  } else if (options.batch >= 0) {
    words.push_back(fmt::format("batch {}:", options.batch));
  } else if (options.head >= 0) {
    words.push_back(fmt::format("head {}:", options.head));
  }
  words.push_back(fmt::format("{} queries x {} keys,", plane.queries(), plane.keys()));
  if (grid.q.size() < plane.queries() || grid.k.size() < plane.keys()) {
    words.push_back(
        fmt::format("part {}:{} x {}:{},", grid.q.begin, grid.q.end, grid.k.begin, grid.k.end));
  }
  if (options.other) {
    words.back().pop_back();  // the comma: counts of one mask would mislead
    return words;
  }
  const Index open = grid.total();
  words.push_back(
      fmt::format("{} open ({})", open, percent_text(open, grid.q.size() * grid.k.size())));
  return words;
}

std::vector<std::string> legend_words(const DrawOptions& options, BlockSize block, UsedSigns used) {
  const bool ascii = options.style == Style::kAscii;
  std::vector<std::string> words;
  if (options.other) {
    overlay_words(options, block, words);
  } else if (pixel_shape(options.style).characters == 2) {
    density_words(options, block, words);
  } else {
    pixel_words(options, block, words);
  }
  if (used.highlight) words.push_back(options.color ? "orange, ! marked" : "! marked");
  if (used.mixed) words.push_back("* several segments");
  if (used.padding) words.push_back("- padding");
  if (used.too_long) words.push_back(ascii ? "~ id too long here" : "… id too long here");
  return words;
}

std::vector<std::string> fill_lines(const std::vector<std::string>& words, Index gap, Index width) {
  std::vector<std::string> lines;
  for (const std::string& word : words) {
    const bool list = !lines.empty() && lines.back().find_last_of(",;:") != lines.back().size() - 1;
    const Index blanks = list ? gap : 1;
    if (!lines.empty() &&
        (width == 0 || utf8_length(lines.back()) + blanks + utf8_length(word) <= width)) {
      lines.back() += std::string(static_cast<std::size_t>(blanks), ' ') + word;
    } else {
      lines.push_back(word);
    }
  }
  return lines;
}

}  // namespace maskctl
