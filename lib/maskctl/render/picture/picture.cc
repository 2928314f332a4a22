#include "maskctl/render/picture/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "maskctl/base/error.h"

namespace maskctl {
namespace {

/// Blocks are square, unless the shorter axis would get fewer units than this: then its blocks are
/// made smaller.
constexpr Index kEnoughUnits = 64;
constexpr Index kTargetSize = 512, kMaxUnit = 32, kThinUnit = 24, kLeastMark = 9;

}  // namespace

void check_picture(const Figure& figure, const PictureOptions& options) {
  check_figure(figure);
  if (options.max_size < 2 || options.max_size > 4096) {
    throw Error(
        Errc::kInvalidArgument,
        fmt::format("a picture of at most {} pixels: expected 2 to 4096", options.max_size));
  }
  if (options.scale < 0 || options.scale > 256) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("{} pixels per cell: expected 1 to 256, or 0 for a fitting number",
                            options.scale));
  }
}

Index panels_across(const Figure& figure) {
  return static_cast<Index>(std::ceil(std::sqrt(figure.panels.size())));
}

std::vector<InkGrid> picture_grids(const Figure& figure, const PictureOptions& options) {
  check_picture(figure, options);
  const Index pixels = options.max_size / panels_across(figure);
  const Index room = std::max<Index>(pixels / std::max<Index>(options.scale, 1), 1);
  const Units units = finest_units(figure);
  const BlockSize step = fitting_block(units.rows, units.columns, room, room, kEnoughUnits);
  std::vector<InkGrid> out;
  for (const Panel& panel : figure.panels) {
    out.push_back(ink_grid(figure, panel, step));
    const UnitSize unit = unit_size(figure, out.back(), options);
    enlarge_marks(out.back(), kLeastMark / std::min(unit.height, unit.width) / 2);
  }
  return out;
}

UnitSize unit_size(const Figure& figure, const GridShape& grid, const PictureOptions& options) {
  if (options.scale > 0) return {options.scale, options.scale};
  const Index longer = std::max<Index>({grid.rows, grid.columns, 1});
  const Index target = std::min(kTargetSize, options.max_size) / panels_across(figure);
  const Index unit = std::clamp<Index>(target / longer, 1, kMaxUnit);
  // Makes the units of a short axis larger, so that a strip of one row stays visible.
  const auto of_axis = [&](Index units) {
    return units > 0 && units * unit < kThinUnit ? std::min(kThinUnit, target) / units : unit;
  };
  return {std::max(of_axis(grid.rows), unit), std::max(of_axis(grid.columns), unit)};
}

}  // namespace maskctl
