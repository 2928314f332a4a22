// A picture as SVG: rectangles and text that stay sharp at any size.
#pragma once

#include <string>
#include <vector>

#include "maskctl/render/figure/ink_rects.h"
#include "maskctl/render/picture/picture.h"

namespace maskctl {

/// If the cells take more rectangles than this, larger blocks are drawn instead.
inline constexpr std::size_t kMaxSvgRects = 20000;

/// The cells of a grid as SVG paths, and nothing else of the picture. Positions are in pixels from
/// the upper left corner of the cells.
std::string svg_cells(const InkGrid& grid, const std::vector<InkRect>& rects, Palette palette,
                      UnitSize unit);

/// A whole SVG document of at most about 400 kB. It consists only of rectangles, paths, text, and
/// groups that are moved or rotated, all in one coordinate system, so that every renderer draws it
/// alike. A matrix without cells is drawn as "(empty)". Throws what check_picture() throws.
std::string draw_svg(const Figure& figure, const PictureOptions& options);

}  // namespace maskctl
