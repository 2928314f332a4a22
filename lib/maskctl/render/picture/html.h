// A picture as one HTML page that loads nothing, runs nothing and can be zoomed.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "maskctl/render/figure/ink_grid.h"

namespace maskctl {

/// An <img> of PNG bytes, stretched to its box with sharp pixels.
std::string png_element(std::span<const std::byte> png);

/// The page: name, statistics, legend, and `cells` (svg_cells() or png_element() of the same grid,
/// with width and height 100%) between rulers that stay in sight. The zoom of 1 to 8 works with
/// style sheets alone; rulers show more numbers as there is room. Light and dark follow the
/// reader's settings. A matrix without cells is shown as "(empty)".
/// Throws as check_picture().
std::string draw_html(const PictureInput& input, const PictureOptions& options, const InkGrid& grid,
                      const std::string& cells);

}  // namespace maskctl
