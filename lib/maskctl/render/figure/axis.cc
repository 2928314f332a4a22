#include "maskctl/render/figure/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <set>

#include "maskctl/base/ranges.h"

namespace maskctl {
namespace {

/// Whether people count this length in powers of two: it is below 64 or a multiple of a large power
/// of two, such as 3072, 4096 and 1 << 20.
bool binary_extent(Index extent) {
  const Index power = static_cast<Index>(std::bit_floor(static_cast<std::uint64_t>(extent)));
  return extent < 64 || extent % (power / 8) == 0;
}

AxisBand band_of(std::span<const std::int32_t> ids, std::int32_t pad_id) {
  const std::int32_t id = ids.front();
  AxisBand out;
  if (std::ranges::any_of(ids, [id](std::int32_t i) { return i != id; })) {
    out.kind = SegmentKind::kMixed;
  } else if (id == pad_id) {
    out.kind = SegmentKind::kPadding;
  } else {
    out.id = id;
  }
  return out;
}

std::vector<AxisBand> bands_of(std::span<const std::int32_t> ids, Range drawn, Index step,
                               std::int32_t pad_id) {
  std::vector<AxisBand> bands;
  if (ids.empty()) return bands;
  for (Index unit = 0, begin = drawn.begin; begin < drawn.end; ++unit, begin += step) {
    const Range cells{begin, std::min(begin + step, drawn.end)};
    AxisBand band = band_of(ids.subspan(as_size(begin), as_size(cells.size())), pad_id);
    if (bands.empty() || !bands.back().same_segment(band)) {
      band.units.begin = unit;
      band.cells.begin = begin;
      bands.push_back(band);
    }
    bands.back().units.end = unit + 1;
    bands.back().cells.end = cells.end;
  }
  return bands;
}

/// Gives colours to segments in order of appearance. Where possible, a segment gets another colour
/// than the segments next to it.
class Colors {
 public:
  void add_neighbours(const std::vector<AxisBand>& bands) {
    for (std::size_t i = 1; i < bands.size(); ++i) {
      if (bands[i].kind != SegmentKind::kId || bands[i - 1].kind != SegmentKind::kId) continue;
      neighbours_[bands[i].id].insert(bands[i - 1].id);
      neighbours_[bands[i - 1].id].insert(bands[i].id);
    }
  }

  void paint(std::vector<AxisBand>& bands) {
    for (AxisBand& band : bands) {
      band.color = band.kind == SegmentKind::kPadding ? kPaddingColor
                   : band.kind == SegmentKind::kMixed ? kMixedColor
                                                      : color_of(band.id);
    }
  }

 private:
  std::size_t color_of(std::int32_t id) {
    if (const auto known = colors_.find(id); known != colors_.end()) return known->second;
    std::array<bool, kSegmentColors> taken{};
    for (const std::int32_t neighbour : neighbours_[id]) {
      const auto known = colors_.find(neighbour);
      if (known != colors_.end()) taken[known->second] = true;
    }
    std::size_t color = colors_.size() % kSegmentColors;
    for (std::size_t tries = 0; taken[color] && tries < kSegmentColors; ++tries) {
      color = (color + 1) % kSegmentColors;
    }
    return colors_[id] = color;
  }

  std::map<std::int32_t, std::size_t> colors_;
  std::map<std::int32_t, std::set<std::int32_t>> neighbours_;
};

}  // namespace

Index tick_step(Index extent, Index most, Index unit) {
  const Index room = std::max<Index>(most, 1);
  Index step = unit;
  if (unit > 1 || binary_extent(extent)) {
    while (ceil_div(extent, step) > room) step *= 2;
    return step;
  }
  for (int turn = 0; ceil_div(extent, step) > room; turn = (turn + 1) % 3) {
    step = turn == 1 ? step / 2 * 5 : step * 2;  // 1, 2, 5, 10, 20, 50, ...
  }
  return step;
}

AxisBands axis_bands(const Figure& figure, const Panel& panel, Index q_step, Index k_step) {
  AxisBands out{bands_of(panel.q_segments, drawn_queries(figure), q_step, figure.pad_id),
                bands_of(panel.k_segments, drawn_keys(figure), k_step, figure.pad_id)};
  Colors colors;
  colors.add_neighbours(out.q);
  colors.add_neighbours(out.k);
  colors.paint(out.q);
  colors.paint(out.k);
  return out;
}

std::string band_text(const AxisBand& band) {
  if (band.kind == SegmentKind::kMixed) return "*";
  return band.kind == SegmentKind::kPadding ? "-" : std::to_string(band.id);
}

std::string band_title(const AxisBand& band) {
  const std::string what = band.kind == SegmentKind::kPadding ? "padding"
                           : band.kind == SegmentKind::kMixed ? "several segments"
                                                              : fmt::format("segment {}", band.id);
  return fmt::format("{}, {}", what, range_words(band.cells, "cell"));
}

}  // namespace maskctl
