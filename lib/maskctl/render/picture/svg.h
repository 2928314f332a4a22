// A picture as SVG: rectangles and text that stay sharp at any size.
#pragma once

#include <string>
#include <vector>

#include "maskctl/render/figure/ink_grid.h"
#include "maskctl/render/figure/ink_rects.h"

namespace maskctl {

/// If there are more rectangles than this, larger blocks are drawn instead.
inline constexpr std::size_t kMaxSvgRects = 20000;

/// An <svg> element of only the matrix, one unit of length per cell, stretched to the box it is put
/// into. `attributes` are copied into the tag.
std::string svg_cells(const InkGrid& grid, const std::vector<InkRect>& rects, Palette palette,
                      const std::string& attributes);

/// A whole document of at most about 400 kB. A matrix without cells is drawn as "(empty)".
/// Throws as check_picture().
std::string draw_svg(const PictureInput& input, const PictureOptions& options);

}  // namespace maskctl
