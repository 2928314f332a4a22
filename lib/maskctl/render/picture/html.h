// A picture as one HTML page that loads no other files, runs no scripts, and can be zoomed.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "maskctl/render/picture/picture.h"

namespace maskctl {

/// The cells of one panel as an <svg>, or PNG bytes as an <img>; both are stretched to their box
/// with sharp pixels.
std::string svg_element(const InkGrid& grid, Palette palette, UnitSize unit);
std::string png_element(std::span<const std::byte> png);

/// The page: title, legend, and for each panel its caption and its element of `cells`, with rulers
/// that stay visible when it is scrolled. `grids` are the picture_grids(). The zoom of 1 to 8 uses
/// only style sheets, and rulers show more numbers at larger zooms. Light and dark colours follow
/// the reader's settings. A matrix without cells is shown as "(empty)".
std::string draw_html(const Figure& figure, const PictureOptions& options,
                      const std::vector<InkGrid>& grids, const std::vector<std::string>& cells);

}  // namespace maskctl
