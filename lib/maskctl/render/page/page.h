// A figure as one HTML page that loads nothing and can be sent: its cells as runs, which the page's
// own scripts draw, zoom and explain.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/render/picture/picture.h"

namespace maskctl {

/// What the scripts of a page read.
struct PageData {
  std::string title;                 // one line of plain text
  std::string json;                  // all but the cells, safe within <script>
  std::vector<std::byte> runs;       // a RunStream (run_stream.h), to be deflated
  std::vector<std::string> remarks;  // sentences on the page about what it leaves out, and why
};

/// The most bytes of runs, before they are deflated, and of labels and stretches of segments.
struct PageLimits {
  std::size_t run_bytes = std::size_t{16} << 20;
  std::size_t axis_bytes = std::size_t{8} << 20;
};

/// The data of a page. A figure with too many runs is drawn in tiles of 4, 16, 64, ... cells, and
/// steps or labels that are too long are left out; `remarks` of the data say so. Throws what
/// check_picture() throws.
PageData page_data(const Figure& figure, const PictureOptions& options,
                   const PageLimits& limits = {});

/// The page. `runs` are those of the data, as zlib deflates them, in Base64. Equal input gives
/// equal bytes.
std::string draw_page(const PageData& data, std::string_view runs);

/// The text, made printable, as a JSON string that is safe within <script>.
std::string json_string(std::string_view bytes);

}  // namespace maskctl
