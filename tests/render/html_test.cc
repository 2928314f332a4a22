// Pictures as HTML pages: a page loads and runs nothing, and names in it are only text.
#include "maskctl/render/picture/html.h"

#include <regex>

#include "maskctl/mask/planes/bands.h"
#include "render/figures.h"
#include "support/catch_compat.h"
#include "support/contains.h"

namespace maskctl {
namespace {

std::string page(const Figure& figure, const PictureOptions& options = {}) {
  const std::vector<InkGrid> grids = picture_grids(figure, options);
  std::vector<std::string> cells;
  for (const InkGrid& grid : grids) {
    cells.push_back(svg_element(grid, options.palette, unit_size(figure, grid, options)));
  }
  return draw_html(figure, options, grids, cells);
}

/// Whether the tags open and close in order.
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
  std::vector<std::int32_t> q(100, 4), k(60, 9);
  Figure figure = test::labelled(diagonal_band(100, 60, -kUnbounded, 0), q, k);
  figure.name = "causal.npy";
  const std::string text = page(figure);
  CHECK(balanced(text));
  CHECK(text.starts_with("<!DOCTYPE html>\n"));
  CHECK(test::contains(text, "<h1>causal.npy</h1>"));
  CHECK(test::contains(text, "<p>100 queries x 60 keys, 4230 open (70.5%), 4230 leaks</p>"));
  CHECK(test::contains(text, "aria-label=\"keys\""));
  CHECK(test::contains(text, "aria-label=\"queries\""));
  CHECK(test::contains(text, "title=\"segment 4, cells 0-99\""));
  CHECK(test::contains(text, "title=\"segment 9, cells 0-59\""));
  CHECK(test::contains(text, "#zoom8:checked"));
  CHECK(test::contains(text, "id=\"zoom1\" checked"));
  CHECK(test::contains(text, "</span> closed</li>"));
  CHECK(test::contains(text, "role=\"img\""));
  CHECK(text == page(figure));
}

TEST_CASE("html: each panel has its caption and its rulers, all one legend", "[html]") {
  Figure figure = test::figure_of(full_plane(8, 8));
  figure.panels.front().name = "head 0";
  figure.panels.push_back({.plane = empty_plane(8, 8), .name = "heads 1-3"});
  const std::string text = page(figure);
  CHECK(balanced(text));
  CHECK(test::contains(text, "<p>head 0: 8 queries x 8 keys, 64 open (100%)</p>"));
  CHECK(test::contains(text, "<p>heads 1-3: 8 queries x 8 keys, 0 open (0%)</p>"));
  CHECK(text.find("<ul>") == text.rfind("<ul>"));
  CHECK(text.find("class=\"view\"") != text.rfind("class=\"view\""));
}

TEST_CASE("html: nothing is fetched and no script runs", "[html]") {
  const Figure figure = test::figure_of(full_plane(5, 5));
  const std::string text = page(figure);
  CHECK(test::contains(text, "default-src 'none'"));
  CHECK_FALSE(test::contains(text, "<script"));
  CHECK_FALSE(test::contains(text, "http://"));
  CHECK_FALSE(test::contains(text, "https://"));
  CHECK_FALSE(test::contains(text, "url("));
  CHECK_FALSE(test::contains(text, "<link"));
  CHECK_FALSE(std::regex_search(text, std::regex("\\son[a-z]+=")));
}

TEST_CASE("html: names of files cannot add markup", "[html]") {
  Figure figure = test::figure_of(full_plane(5, 5), full_plane(5, 5));
  figure.name = "</title></style><img src=x onerror=alert(1)>";
  figure.other_name = "\" onclick=\"x\xE2\x80\xAE<!--";
  const std::string text = page(figure);
  CHECK(balanced(text));
  CHECK_FALSE(test::contains(text, "<img"));
  CHECK_FALSE(test::contains(text, "<!--"));
  CHECK_FALSE(test::contains(text, "\" onclick"));
  CHECK(test::contains(text, "&lt;img src=x onerror=alert(1)&gt;"));
}

TEST_CASE("html: more numbers stand on the rulers at higher zoom", "[html]") {
  const Figure figure = test::figure_of(full_plane(1024, 1024));
  const std::string text = page(figure);
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
  const Figure figure = test::figure_of(empty_plane(0, 3));
  const std::string text = page(figure);
  CHECK(test::contains(text, "(empty)"));
  CHECK(balanced(text));
}

}  // namespace maskctl
