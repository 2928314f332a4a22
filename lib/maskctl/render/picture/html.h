// A picture as one HTML page that loads nothing, runs nothing and can be zoomed.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "maskctl/render/picture/picture.h"

namespace maskctl {

/// An <svg> of one panel's cells, or an <img> of PNG bytes, stretched to its box with sharp pixels.
std::string svg_element(const InkGrid& grid, Palette palette, UnitSize unit);
std::string png_element(std::span<const std::byte> png);

/// The page: title, legend, and for each panel its caption and its element of `cells` between
/// rulers that stay in sight; `grids` are the picture_grids(). The zoom of 1 to 8 works with style
/// sheets alone; rulers show more numbers as there is room. Light and dark follow the reader's
/// settings. A matrix without cells is shown as "(empty)".
std::string draw_html(const Figure& figure, const PictureOptions& options,
                      const std::vector<InkGrid>& grids, const std::vector<std::string>& cells);

}  // namespace maskctl
