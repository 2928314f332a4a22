#include "maskctl/render/text/overlay.h"

#include <array>

#include "maskctl/render/figure/inks.h"

namespace maskctl {
namespace {

// In the order of the overlay's inks: none, both some, both all, A some, A all, B some, B all,
// differ.
constexpr std::array<char32_t, 8> kShades = {U' ', U'░', U'█', U'-', U'-', U'+', U'+', U'x'};
constexpr std::array<char32_t, 8> kAscii = {U' ', U'.', U'#', U'-', U'-', U'+', U'+', U'x'};
constexpr std::array<std::int16_t, 8> kColors = {-1, 245, 245, 166, 166, 25, 25, 133};

}  // namespace

Canvas draw_overlay_cells(const Plane& plane, const DensityGrid& grid, const DrawOptions& options) {
  const PlanePtr a = plane.shared_from_this();
  const auto counted = [&grid](const PlanePtr& part) {
    return density(*part, grid.q, grid.k, grid.q_step, grid.k_step);
  };
  const DensityGrid only_a = counted(combine(Op::kSub, a, options.other));
  const DensityGrid only_b = counted(combine(Op::kSub, options.other, a));
  Canvas canvas(grid.rows, grid.columns * 2);
  for (Index row = 0; row < grid.rows; ++row) {
    for (Index column = 0; column < grid.columns; ++column) {
      const Index in_a = only_a.at(row, column);
      const std::uint8_t ink = overlay_ink(grid.at(row, column) - in_a, in_a,
                                           only_b.at(row, column), grid.area(row, column));
      Glyph glyph;
      glyph.code = options.style == Style::kAscii ? kAscii[ink] : kShades[ink];
      if (options.color) glyph.fg = kColors[ink];
      canvas.put(row, 2 * column, glyph);
      canvas.put(row, 2 * column + 1, glyph);
    }
  }
  return canvas;
}

}  // namespace maskctl
