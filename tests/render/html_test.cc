// Pictures as an HTML page: nothing is loaded or run, names are only text.
#include "maskctl/render/picture/html.h"

#include <regex>

#include "maskctl/mask/planes/bands.h"
#include "maskctl/render/figure/ink_rects.h"
#include "maskctl/render/picture/svg.h"
#include "support/catch_compat.h"
#include "support/contains.h"

namespace maskctl {
namespace {

std::string page(const PictureInput& input, const PictureOptions& options = {}) {
  const InkGrid grid = ink_grid(input, options.max_size, options.max_size);
  return draw_html(input, options, grid, svg_cells(grid, grid_rects(grid), options.palette, ""));
}

/// Tags open and close in order.
bool balanced(const std::string& text) {
  static const std::regex tag("<(/?)([a-z][a-z0-9]*)[^>]*?(/?)>");
  std::vector<std::string> open;
  for (std::sregex_iterator it(text.begin(), text.end(), tag), end; it != end; ++it) {
    const std::string name = (*it)[2];
    if (name == "meta" || name == "br" || name == "input" || name == "img") continue;
    if ((*it)[1] == "/") {
      if (open.empty() || open.back() != name) return false;
      open.pop_back();
    } else if ((*it)[3] != "/") {
      open.push_back(name);
    }
  }
  return open.empty();
}

}  // namespace

TEST_CASE("html: a page holds the picture, both rulers, zoom, legend and numbers", "[html]") {
  PictureInput input;
  input.plane = diagonal_band(100, 60, -kUnbounded, 0);
  input.name = "causal.npy";
  std::vector<std::int32_t> q(100, 4), k(60, 9);
  input.q_segments = q;
  input.k_segments = k;
  const std::string text = page(input);
  CHECK(balanced(text));
  CHECK(text.starts_with("<!DOCTYPE html>\n"));
  CHECK(test::contains(text, "<h1>causal.npy</h1>"));
  CHECK(test::contains(text, "<p>100 queries x 60 keys, 4230 open (70.5%)</p>"));
  CHECK(test::contains(text, "aria-label=\"keys\""));
  CHECK(test::contains(text, "aria-label=\"queries\""));
  CHECK(test::contains(text, "title=\"segment 4, cells 0 to 99\""));
  CHECK(test::contains(text, "title=\"segment 9, cells 0 to 59\""));
  CHECK(test::contains(text, "#zoom8:checked"));
  CHECK(test::contains(text, "id=\"zoom1\" checked"));
  CHECK(test::contains(text, "</span> closed</li>"));
  CHECK(test::contains(text, "role=\"img\""));
  CHECK(text == page(input));
}

TEST_CASE("html: nothing is fetched and no script runs", "[html]") {
  PictureInput input;
  input.plane = full_plane(5, 5);
  const std::string text = page(input);
  CHECK(test::contains(text, "default-src 'none'"));
  CHECK_FALSE(test::contains(text, "<script"));
  CHECK_FALSE(test::contains(text, "http://"));
  CHECK_FALSE(test::contains(text, "https://"));
  CHECK_FALSE(test::contains(text, "url("));
  CHECK_FALSE(test::contains(text, "<link"));
  CHECK_FALSE(std::regex_search(text, std::regex("\\son[a-z]+=")));
}

TEST_CASE("html: names of files cannot add markup", "[html]") {
  PictureInput input;
  input.plane = input.other = full_plane(5, 5);
  input.name = "</title></style><img src=x onerror=alert(1)>";
  input.other_name = "\" onclick=\"x\xE2\x80\xAE<!--";
  const std::string text = page(input);
  CHECK(balanced(text));
  CHECK_FALSE(test::contains(text, "<img"));
  CHECK_FALSE(test::contains(text, "<!--"));
  CHECK_FALSE(test::contains(text, "\" onclick"));
  CHECK(test::contains(text, "&lt;img src=x onerror=alert(1)&gt;"));
}

TEST_CASE("html: more numbers stand on the rulers at higher zoom", "[html]") {
  PictureInput input;
  input.plane = full_plane(1024, 1024);
  const std::string text = page(input);
  const auto shown = [&](const std::string& zoom) {
    const std::regex tick("class=\"tick[^\"]* " + zoom + "[ \"]");
    return std::distance(std::sregex_iterator(text.begin(), text.end(), tick), {});
  };
  CHECK(shown("z1") > 8);
  CHECK(shown("z2") > shown("z1"));
  CHECK(shown("z8") > shown("z4"));
  CHECK(shown("z8") < 1024);
}

TEST_CASE("html: pictures of pixels are embedded in the page as data", "[html]") {
  const std::vector<std::byte> bytes = {std::byte{1}, std::byte{2}, std::byte{3}};
  CHECK(png_element(bytes) == "<img alt=\"\" src=\"data:image/png;base64,AQID\">\n");
  PictureInput input;
  input.plane = empty_plane(0, 3);
  const std::string text = page(input);
  CHECK(test::contains(text, "(empty)"));
  CHECK(balanced(text));
}

}  // namespace maskctl
