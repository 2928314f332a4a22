// A picture as SVG: rectangles and text that stay sharp at any size.
#pragma once

#include <string>
#include <vector>

#include "maskctl/render/figure/ink_rects.h"
#include "maskctl/render/picture/picture.h"

namespace maskctl {

/// If there are more rectangles than this, larger blocks are drawn instead.
inline constexpr std::size_t kMaxSvgRects = 20000;

/// Paths of only the matrix, in pixels from its upper left corner.
std::string svg_cells(const InkGrid& grid, const std::vector<InkRect>& rects, Palette palette,
                      UnitSize unit);

/// A whole document of at most about 400 kB. It has nothing but rectangles, paths, groups moved or
/// turned and text, all in one system of coordinates, so that every renderer draws it alike. A
/// matrix without cells is drawn as "(empty)". Throws as check_picture().
std::string draw_svg(const Figure& figure, const PictureOptions& options);

}  // namespace maskctl
