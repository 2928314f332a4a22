// Pictures as SVG: rectangles cover exactly the open cells, and names are only text.
#include "maskctl/render/picture/svg.h"

#include <random>
#include <regex>
#include <set>

#include "maskctl/mask/planes/bands.h"
#include "maskctl/render/picture/markup.h"
#include "maskctl/render/picture/raster.h"
#include "render/figures.h"
#include "support/catch_compat.h"
#include "support/twin.h"

namespace maskctl {
namespace {

using test::figure_of;

InkGrid svg_grid_of(const Figure& figure, Index size) {
  PictureOptions options;
  options.max_size = size;
  return picture_grids(figure, options).front();
}

Index occurrences(const std::string& text, const std::string& part) {
  Index n = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

/// True if every tag is closed and the text has no other '<', which is enough to see that a name
/// broke nothing.
bool well_formed(const std::string& text) {
  static const std::regex tag("<(/?)([a-zA-Z]+)((?:\\s+[a-zA-Z:-]+=\"[^\"<]*\")*)\\s*(/?)>");
  std::vector<std::string> open;
  std::string rest = text;
  std::smatch found;
  std::string::const_iterator at = text.begin();
  while (std::regex_search(at, text.cend(), found, tag)) {
    if (std::find(at, found[0].first, '<') != found[0].first) return false;
    if (found[1] == "/") {
      if (open.empty() || open.back() != found[2]) return false;
      open.pop_back();
    } else if (found[4] != "/") {
      open.push_back(found[2]);
    }
    at = found[0].second;
  }
  return open.empty() && std::find(at, text.cend(), '<') == text.cend();
}

/// Paints the rectangles and the paths of rectangles in a document, as a very simple renderer.
class Painted {
 public:
  explicit Painted(const std::string& svg) {
    static const std::regex element(
        "<(/?g|rect|path)(?: transform=\"translate\\((\\d+) (\\d+)\\)\")?([^>]*)>");
    for (std::sregex_iterator it(svg.begin(), svg.end(), element), end; it != end; ++it) {
      const std::string name = (*it)[1], attributes = (*it)[4];
      if (name == "g") left_ = std::stol((*it)[2]), top_ = std::stol((*it)[3]);
      if (name == "/g") left_ = top_ = 0;
      if (name == "rect") rect(attributes);
      if (name == "path") path(attributes);
    }
  }

  std::string at(Index x, Index y) const { return colors_[as_size(y * width_ + x)]; }

 private:
  static std::string text_of(const std::string& attributes, const std::string& name) {
    std::smatch found;
    std::regex_search(attributes, found, std::regex("(?:^| )" + name + "=\"([^\"]*)\""));
    return found[1];
  }

  static Index number_of(const std::string& attributes, const std::string& name) {
    const std::string text = text_of(attributes, name);
    return text.empty() ? 0 : std::stol(text);
  }

  void fill(Index x, Index y, Index width, Index height, const std::string& color) {
    if (colors_.empty()) {  // the first rectangle is the background
      width_ = width;
      colors_.resize(as_size(width * height));
    }
    for (Index row = y; row < y + height; ++row) {
      std::fill_n(colors_.begin() + (top_ + row) * width_ + left_ + x, width, color);
    }
  }

  void rect(const std::string& attributes) {
    fill(number_of(attributes, "x"), number_of(attributes, "y"), number_of(attributes, "width"),
         number_of(attributes, "height"), text_of(attributes, "fill"));
  }

  void path(const std::string& attributes) {
    static const std::regex part("M(\\d+) (\\d+)h(\\d+)v(\\d+)h-\\d+z");
    const std::string steps = text_of(attributes, "d");
    for (std::sregex_iterator it(steps.begin(), steps.end(), part), end; it != end; ++it) {
      fill(std::stol((*it)[1]), std::stol((*it)[2]), std::stol((*it)[3]), std::stol((*it)[4]),
           text_of(attributes, "fill"));
    }
  }

  Index width_ = 0, left_ = 0, top_ = 0;
  std::vector<std::string> colors_;
};

}  // namespace

TEST_CASE("svg: rectangles cover each coloured unit of a grid once", "[svg]") {
  std::mt19937 random(11);
  for (int turn = 0; turn < 20; ++turn) {
    const Index q = 1 + random() % 40, k = 1 + random() % 40;
    const auto dense = twin::matrix(q, k, [&](Index, Index) { return random() % 4 != 0; });
    const InkGrid grid = svg_grid_of(figure_of(twin::plane_of_matrix(dense)), 16);
    std::vector<std::uint8_t> painted(grid.inks.size(), ink::kNone);
    for (const InkRect& rect : grid_rects(grid)) {
      REQUIRE(rect.rows.end <= grid.rows);
      REQUIRE(rect.columns.end <= grid.columns);
      for (Index r = rect.rows.begin; r < rect.rows.end; ++r) {
        for (Index c = rect.columns.begin; c < rect.columns.end; ++c) {
          REQUIRE(painted[grid.index(r, c)] == ink::kNone);
          painted[grid.index(r, c)] = rect.ink;
        }
      }
    }
    REQUIRE(painted == grid.inks);
  }
}

TEST_CASE("svg: regular masks are drawn with few rectangles", "[svg]") {
  const auto rects_of = [](PlanePtr plane) {
    return grid_rects(svg_grid_of(figure_of(std::move(plane)), 1024));
  };
  CHECK(rects_of(full_plane(300, 500)) == std::vector<InkRect>{{{0, 300}, {0, 500}, ink::kAll}});
  CHECK(rects_of(empty_plane(300, 500)).empty());
  CHECK(rects_of(diagonal_band(300, 300, -kUnbounded, 0)).size() == 300);
  const PlanePtr two =
      combine(Op::kOr, rectangle(9, 9, {0, 4}, {0, 4}), rectangle(9, 9, {4, 9}, {4, 9}));
  CHECK(rects_of(two) ==
        std::vector<InkRect>{{{0, 4}, {0, 4}, ink::kAll}, {{4, 9}, {4, 9}, ink::kAll}});
}

TEST_CASE("svg: the text for a small mask is exactly as expected", "[svg]") {
  const InkGrid grid = svg_grid_of(figure_of(diagonal_band(2, 3, -kUnbounded, 1)), 16);
  CHECK(svg_cells(grid, grid_rects(grid), Palette::kGrey, {8, 10}) ==
        "<rect width=\"30\" height=\"16\" fill=\"#141414\"/>\n"
        "<path fill=\"#ffffff\" d=\"M0 0h20v8h-20zM0 8h30v8h-30z\"/>\n"
        "<path fill=\"#787878\" d=\"M0 7h30v1h-30zM9 0h1v16h-1zM19 0h1v16h-1z\"/>\n");
  CHECK(svg_cells(grid, grid_rects(grid), Palette::kGrey, {1, 1}) ==
        "<rect width=\"3\" height=\"2\" fill=\"#141414\"/>\n"
        "<path fill=\"#ffffff\" d=\"M0 0h2v1h-2zM0 1h3v1h-3z\"/>\n");
}

TEST_CASE("svg: only elements and attributes that simple renderers support are used", "[svg]") {
  std::vector<std::int32_t> ids(30, 1);
  std::fill(ids.begin() + 10, ids.end(), 2);
  Figure figure = test::labelled(diagonal_band(30, 30, -3, 1), ids, ids);
  figure.panels.push_back(figure.panels.front());
  const std::string text = draw_svg(figure, {});
  const std::regex tag("<([a-z]+)([^>]*)>"), attribute("\\s([a-zA-Z-]+)=\"([^\"]*)\"");
  const std::set<std::string> elements = {"svg", "title", "desc", "rect", "path", "g", "text"};
  const std::set<std::string> plain = {"xmlns", "width",           "height",    "viewBox",
                                       "role",  "aria-labelledby", "id",        "x",
                                       "y",     "font-family",     "font-size", "fill",
                                       "d",     "text-anchor",     "transform", "shape-rendering"};
  const std::regex numbers("([a-z]+\\()?[-MhvzZ0-9. ]+\\)?");
  for (std::sregex_iterator it(text.begin(), text.end(), tag), end; it != end; ++it) {
    CHECK(elements.contains((*it)[1]));
    const std::string inside = (*it)[2];
    for (std::sregex_iterator at(inside.begin(), inside.end(), attribute); at != end; ++at) {
      CAPTURE((*it)[1].str(), (*at)[1].str());
      CHECK(plain.contains((*at)[1]));
      if ((*at)[1] == "d" || (*at)[1] == "transform")
        CHECK(std::regex_match((*at)[2].str(), numbers));
    }
  }
  CHECK(occurrences(text, "<svg") == 1);  // no nested system of coordinates
  CHECK(occurrences(text, "stroke") == 0);
}

TEST_CASE("svg: a simple renderer draws the pixels of the PNG", "[svg]") {
  PictureOptions options;
  options.title = options.axes = options.legend = false;  // a picture without text
  for (const Index n : {Index{1}, Index{9}, Index{30}, Index{200}, Index{3000}}) {
    std::vector<std::int32_t> ids(as_size(n), 0);
    std::fill(ids.begin() + n / 2, ids.end(), 1);
    const PlanePtr leaking =
        combine(Op::kOr, diagonal_band(n, n, -n / 8, 0), rectangle(n, n, {n / 2, n}, {0, 1}));
    const PlanePtr other = diagonal_band(n, n, -n / 4, 1);
    for (Figure figure : {test::labelled(leaking, ids, ids), figure_of(leaking, other)}) {
      figure.panels.push_back(figure.panels.front());
      const Raster raster = draw_raster(figure, options);
      const Painted painted(draw_svg(figure, options));
      Index different = 0;
      for (Index y = 0; y < raster.height; ++y) {
        for (Index x = 0; x < raster.width; ++x) {
          different += painted.at(x, y) != hex_color(raster.at(x, y));
        }
      }
      CAPTURE(n);
      CHECK(different == 0);
    }
  }
}

TEST_CASE("svg: leaks and differences are drawn in their colours and counted", "[svg]") {
  const std::vector<std::int32_t> ids = {0, 0, 1, 1};
  const std::string leaking = draw_svg(test::labelled(full_plane(4, 4), ids, ids), {});
  const std::string red = hex_color(inks(InkSet::kMask, Palette::kCividis)[ink::kLeak].color);
  CHECK(leaking.find("<path fill=\"" + red) != std::string::npos);
  CHECK(leaking.find("16 open (100%), 8 leaks") != std::string::npos);
  CHECK(leaking.find(">leak<") != std::string::npos);
  const std::string differing = draw_svg(figure_of(full_plane(4, 4), empty_plane(4, 4)), {});
  CHECK(differing.find("<path fill=\"" + red) != std::string::npos);
  CHECK(differing.find("only in A 16 (100%)") != std::string::npos);
}

TEST_CASE("svg: a document is well formed and always the same", "[svg]") {
  std::vector<std::int32_t> q(12, 5), k(20, 1);
  k.back() = -1;
  Figure figure = test::labelled(diagonal_band(12, 20, -3, 1), q, k);
  figure.name = "m.npy | causal";
  figure.panels.front().name = "batch 2";
  const std::string text = draw_svg(figure, {});
  CHECK(well_formed(text));
  CHECK(text.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  CHECK(text.find("m.npy | causal") != std::string::npos);
  CHECK(text.find(">keys<") != std::string::npos);
  CHECK(text.find(">queries<") != std::string::npos);
  CHECK(text.find("<title>segment 5, cells 0-11</title>") != std::string::npos);
  CHECK(text.find("padding") != std::string::npos);
  CHECK(text == draw_svg(figure, {}));
  CHECK_FALSE(well_formed("<svg><g></svg>"));
  CHECK_FALSE(well_formed("<svg a=\"1<\"></svg>"));
}

TEST_CASE("svg: names of files cannot add markup", "[svg]") {
  Figure figure = figure_of(full_plane(3, 3), full_plane(3, 3));
  figure.name = "</title><script>alert('1')</script>\"&.npy";
  figure.other_name = std::string("\xFF\xC0\xAF\xED\xA0\x80\0\x1B[31m]]>", 15);
  const std::string text = draw_svg(figure, {});
  CHECK(well_formed(text));
  CHECK(text.find("<script") == std::string::npos);
  CHECK(text.find("&lt;script&gt;alert(&#39;1&#39;)") != std::string::npos);
  for (const char c : text) CHECK((static_cast<unsigned char>(c) >= 0x20 || c == '\n'));
}

TEST_CASE("svg: valid UTF-8 is kept and other bytes are escaped", "[svg]") {
  CHECK(escape_markup("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80") ==
        "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
  CHECK(escape_markup("\x80") == "\\x80");
  CHECK(escape_markup("\xE2\x80\xAE") == "\\u202e");
  CHECK(escape_markup("\xEF\xBF\xBF") == "\\uffff");  // XML forbids it
  CHECK(escape_markup("\t\x7F\xC2\x9B") == "\\x09\\x7f\\u009b");
  CHECK(escape_markup("<&>'\"") == "&lt;&amp;&gt;&#39;&quot;");
  const auto encoded = [](std::string_view text) { return base64(std::as_bytes(std::span(text))); };
  CHECK(encoded("") == "");
  CHECK(encoded("f") == "Zg==");
  CHECK(encoded("fo") == "Zm8=");
  CHECK(encoded("foo") == "Zm9v");
  CHECK(encoded("\xFB\xFF\xFE") == "+//+");
}

TEST_CASE("svg: irregular masks are drawn in blocks before the file gets large", "[svg]") {
  std::mt19937 random(4);
  const auto dense = twin::matrix(700, 700, [&](Index, Index) { return random() % 2 == 0; });
  const std::string text = draw_svg(figure_of(twin::plane_of_matrix(dense)), {});
  CHECK(text.size() < 600000);
  CHECK(occurrences(text, "z") < static_cast<Index>(kMaxSvgRects) + 100);
  CHECK(text.find("1 square = ") != std::string::npos);
}

TEST_CASE("svg: one open cell of a million by a million is visible", "[svg]") {
  const Index n = 1000000;
  const std::string text = draw_svg(figure_of(rectangle(n, n, {500000, 500001}, {3, 4})), {});
  CHECK(text.find("M0 488h1v1h-1z") != std::string::npos);
  CHECK(occurrences(text, "h1v1h-1z") == 1);
  CHECK(draw_svg(figure_of(empty_plane(0, 5)), {}).find("(empty)") != std::string::npos);
}

}  // namespace maskctl
