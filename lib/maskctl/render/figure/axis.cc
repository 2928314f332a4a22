#include "maskctl/render/figure/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace maskctl {
namespace {

/// True for lengths that people count in powers of two, such as 4096, 3072 and 1 << 20.
bool binary_extent(Index extent) {
  const Index power = static_cast<Index>(std::bit_floor(static_cast<std::uint64_t>(extent)));
  return extent >= 32 && extent % (power / 8) == 0;
}

/// The last `most` characters, of which the first three are dots.
std::string shortened(const std::string& word, Index most) {
  std::size_t begin = word.size();
  for (Index kept = 0; begin > 0 && kept < most - 3; ++kept) {
    do --begin;
    while (begin > 0 && (static_cast<unsigned char>(word[begin]) & 0xC0) == 0x80);
  }
  return "..." + word.substr(begin);
}

}  // namespace

Index tick_step(Index extent, Index most) {
  const Index room = std::max<Index>(most, 1);
  Index step = 1;
  if (binary_extent(extent)) {
    while (ceil_div(extent, step) > room) step *= 2;
    return step;
  }
  for (int turn = 0; ceil_div(extent, step) > room; turn = (turn + 1) % 3) {
    step = turn == 1 ? step / 2 * 5 : step * 2;  // 1 2 5 10
  }
  return step;
}

std::vector<AxisBand> axis_bands(std::span<const std::int32_t> ids, Index step,
                                 std::int32_t pad_id) {
  std::vector<AxisBand> bands;
  const auto extent = static_cast<Index>(ids.size());
  Index begin = 0;
  for (const SegmentLabel& label : segment_labels(ids, {0, extent}, step, pad_id)) {
    const Index end = std::min(begin + step, extent);
    if (!bands.empty() && bands.back().label == label) {
      bands.back().cells.end = end;
    } else {
      bands.push_back({{begin, end}, label});
    }
    begin = end;
  }
  return bands;
}

std::size_t band_color(const SegmentLabel& label) {
  if (label.kind == SegmentKind::kPadding) return kPaddingColor;
  if (label.kind == SegmentKind::kMixed) return kMixedColor;
  return static_cast<std::uint32_t>(label.id) % kPaddingColor;
}

std::string band_title(const AxisBand& band) {
  const std::string cells = fmt::format("cells {} to {}", band.cells.begin, band.cells.end - 1);
  switch (band.label.kind) {
    case SegmentKind::kPadding:
      return "padding, " + cells;
    case SegmentKind::kMixed:
      return "several segments, " + cells;
    case SegmentKind::kId:
      break;
  }
  return fmt::format("segment {}, {}", band.label.id, cells);
}

std::vector<BandLegend> band_legend(const std::vector<AxisBand>& q,
                                    const std::vector<AxisBand>& k) {
  std::vector<BandLegend> out;
  for (const auto& [kind, text] : {std::pair{SegmentKind::kPadding, "padding"},
                                   std::pair{SegmentKind::kMixed, "several segments"}}) {
    const auto of_kind = [wanted = kind](const AxisBand& band) {
      return band.label.kind == wanted;
    };
    if (std::any_of(q.begin(), q.end(), of_kind) || std::any_of(k.begin(), k.end(), of_kind)) {
      out.push_back({band_color({kind, 0}), text});
    }
  }
  return out;
}

std::vector<std::string> wrapped_text(const std::string& utf8, Index most) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < utf8.size();) {
    const std::size_t end = std::min(utf8.find(' ', begin), utf8.size());
    const std::string word = utf8.substr(begin, end - begin);
    if (!word.empty()) words.push_back(utf8_length(word) > most ? shortened(word, most) : word);
    begin = end + 1;
  }
  return fill_lines(words, 1, most);
}

std::string picture_name(const PictureInput& input) {
  std::string part;
  if (input.batch >= 0) part += fmt::format("batch {}", input.batch);
  if (input.head >= 0) part += fmt::format("{}head {}", part.empty() ? "" : ", ", input.head);
  std::string name = input.name;
  if (input.other) {
    name = fmt::format("A: {}, B: {}", input.name.empty() ? "-" : input.name,
                       input.other_name.empty() ? "-" : input.other_name);
  }
  if (name.empty() || part.empty()) return name + part;
  return name + ", " + part;
}

std::string picture_statistics(const PictureInput& input, const PictureCounts& counts) {
  const std::string extents =
      fmt::format("{} queries x {} keys", picture_queries(input), picture_keys(input));
  const auto share = [&](Index open) {
    return fmt::format("{} ({})", open, percent_text(open, counts.area));
  };
  if (input.tiles != nullptr) {
    const Index empty = counts.tile_area - counts.full - counts.partial;
    return fmt::format("{}, {} tiles of {} x {}: {} full, {} partial, {} empty", extents,
                       counts.tile_area, input.tiles->q_tile, input.tiles->k_tile, counts.full,
                       counts.partial, empty);
  }
  if (!input.other) {
    return fmt::format("{}, {} open ({})", extents, counts.only_a,
                       percent_text(counts.only_a, counts.area));
  }
  return fmt::format("{}, open in both {}, only in A {}, only in B {}", extents, share(counts.both),
                     share(counts.only_a), share(counts.only_b));
}

std::string unit_text(const InkGrid& grid, const char* unit) {
  if (!grid.blocks) return "";
  return fmt::format("1 {} = {} x {} cells", unit, grid.q_step, grid.k_step);
}

}  // namespace maskctl
