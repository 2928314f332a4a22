// A picture as SVG: rectangles and text that stay sharp at any size.
#pragma once

#include <string>
#include <vector>

#include "maskctl/render/ink_grid.h"
#include "maskctl/render/ink_rects.h"

namespace maskctl {

/// More rectangles than this are drawn in larger blocks instead.
inline constexpr std::size_t kMaxSvgRects = 20000;

/// An <svg> element of the matrix alone, one unit of length per cell, stretched to whatever box it
/// is put into. `attributes` go into the tag as they are.
std::string svg_cells(const InkGrid& grid, const std::vector<InkRect>& rects, Palette palette,
                      const std::string& attributes);

/// A whole document, at most about 400 kB. A matrix without cells says "(empty)".
/// Throws as check_picture().
std::string draw_svg(const PictureInput& input, const PictureOptions& options);

}  // namespace maskctl
