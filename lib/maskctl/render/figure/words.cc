#include "maskctl/render/figure/words.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/base/grouped.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/ranges.h"
#include "maskctl/base/text.h"
#include "maskctl/render/text/canvas.h"

namespace maskctl {
namespace {

/// The byte index at which character number `n`, from 0, begins.
std::size_t byte_of(const std::string& utf8, Index n) {
  std::size_t at = 0;
  for (; n > 0 && at < utf8.size(); --n) {
    do ++at;
    while (at < utf8.size() && (static_cast<unsigned char>(utf8[at]) & 0xC0) == 0x80);
  }
  return at;
}

void count_words(const InkGrid& grid, std::vector<std::string>& words) {
  const FigureCounts& counts = grid.counts;
  const auto share = [&](Index open) {
    return fmt::format("{} ({})", grouped(open), percent_text(open, counts.area));
  };
  switch (grid.set) {
    case InkSet::kTiles:
      words.push_back(fmt::format("{} full,", grouped(counts.full)));
      words.push_back(fmt::format("{} partial,", grouped(counts.partial)));
      words.push_back(
          fmt::format("{} empty", grouped(counts.tile_area - counts.full - counts.partial)));
      break;
    case InkSet::kOverlay:
      words.push_back("open in both " + share(counts.both) + ",");
      words.push_back("only in A " + share(counts.only_a) + ",");
      words.push_back("only in B " + share(counts.only_b));
      break;
    case InkSet::kMask:
      words.push_back(fmt::format("{} open ({})", grouped(counts.only_a),
                                  percent_text(counts.only_a, counts.area)));
      break;
  }
  if (counts.leaks > 0) {
    words.back() += ",";
    words.push_back(counted(counts.leaks, "leak"));
  }
  if (counts.padding > 0) {
    words.back() += ",";
    words.push_back(fmt::format("{} of padding", counted(counts.padding, "cell")));
  }
}

}  // namespace

std::string ascii_text(std::string_view utf8) {
  std::string out;
  for (const char c : utf8) {
    const bool continues = (static_cast<unsigned char>(c) & 0xC0) == 0x80;
    if (!continues) out += c >= ' ' && c <= '~' ? c : '?';
  }
  return out;
}

std::string shortened(const std::string& utf8, Index width) {
  const Index length = utf8_length(utf8);
  if (length <= width) return utf8;
  const Index kept = std::max<Index>(width - 3, 0), end = kept / 2;
  return utf8.substr(0, byte_of(utf8, kept - end)) + std::string("...").substr(0, as_size(width)) +
         utf8.substr(byte_of(utf8, length - end));
}

std::vector<std::string> title_lines(const Figure& figure, Index width) {
  std::vector<std::string> out;
  const auto add = [&](std::string_view label, const std::string& name) {
    const std::string line = std::string(label) + printable(name, kUncut);
    out.push_back(width > 0 ? shortened(line, width) : line);
  };
  const bool overlay = figure.panels.front().other != nullptr;
  if (overlay && !(figure.name.empty() && figure.other_name.empty())) {
    add("A: ", figure.name.empty() ? "-" : figure.name);
    add("B: ", figure.other_name.empty() ? "-" : figure.other_name);
  } else if (!overlay && !figure.name.empty()) {
    add("", figure.name);
  }
  return out;
}

std::vector<std::string> caption_words(const Figure& figure, const Panel& panel,
                                       const InkGrid& grid) {
  std::vector<std::string> words;
  if (!panel.name.empty()) words.push_back(panel.name + ":");
  const TileMap* map = panel.tiles;
  words.push_back(fmt::format(
      "{} x {},", counted(map ? map->queries : panel.plane->queries(), "query", "queries"),
      counted(map ? map->keys : panel.plane->keys(), "key")));
  if (figure.queries || figure.keys) {
    words.push_back(fmt::format("part {} x {},", range_text(grid.q), range_text(grid.k)));
  }
  if (const auto tile = tile_size_of(panel)) {
    words.push_back(
        fmt::format("{} of {} x {}:", counted(grid.counts.tile_area, "tile"), tile->q, tile->k));
  }
  count_words(grid, words);
  return words;
}

std::string percent_text(Index open, Index area) {
  if (open == 0) return "0%";
  if (open == area) return "100%";
  const double share = 100.0 * static_cast<double>(open) / static_cast<double>(area);
  if (share < 0.1) return "<0.1%";
  if (share > 99.9) return ">99.9%";
  return fmt::format("{:.1f}%", share);
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
