// Pages: what they hold is the cells of the mask, they load nothing, and names in them are only
// text.
#include "maskctl/render/page/page.h"

#include <bit>
#include <random>
#include <string>

#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/dilated.h"
#include "maskctl/mask/steps/step.h"
#include "maskctl/render/page/run_stream.h"
#include "render/figures.h"
#include "support/catch_compat.h"
#include "support/contains.h"

namespace maskctl {
namespace {

using Cells = std::vector<std::vector<bool>>;

/// Reads a list as the page's script does, cell by cell.
Cells read_list(std::span<const std::byte> bytes, std::size_t at, Index columns) {
  const auto number = [&] {
    std::uint64_t out = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = std::to_integer<std::uint64_t>(bytes[at++]);
      out |= (byte & 127) << shift;
      if (byte < 128) return static_cast<Index>(out);
    }
  };
  Cells out;
  for (Index n = number(); n > 0; n = number()) {
    std::vector<Index> edges(as_size(2 * number())), slopes(edges.size(), 0);
    Index before = 0;
    for (Index& edge : edges) edge = before += number();
    if (n > 1) {
      for (Index& slope : slopes) {
        const Index zigzag = number();
        slope = zigzag % 2 == 0 ? zigzag / 2 : -(zigzag + 1) / 2;
      }
    }
    for (Index row = 0; row < n; ++row) {
      std::vector<bool>& cells = out.emplace_back(as_size(columns), false);
      for (std::size_t i = 0; i < edges.size(); i += 2) {
        for (Index k = edges[i] + row * slopes[i]; k < edges[i + 1] + row * slopes[i + 1]; ++k) {
          cells.at(as_size(k)) = true;
        }
      }
    }
  }
  return out;
}

/// The tiles of a part, cell by cell. `full`: those without a closed cell, else those with an open
/// one.
Cells plain(const Plane& plane, Range queries, Range keys, BlockSize size, bool full) {
  Cells out;
  for (Index q = queries.begin; q < queries.end; q += size.q) {
    std::vector<bool>& row = out.emplace_back();
    for (Index k = keys.begin; k < keys.end; k += size.k) {
      const Range qs{q, std::min(q + size.q, queries.end)}, ks{k, std::min(k + size.k, keys.end)};
      Index open = 0;
      for (Index i = qs.begin; i < qs.end; ++i) {
        for (Index j = ks.begin; j < ks.end; ++j) open += plane.count({i, i + 1}, {j, j + 1});
      }
      row.push_back(full ? open == qs.size() * ks.size() : open > 0);
    }
  }
  return out;
}

std::string draw(const Figure& figure, const PageLimits& limits = {}) {
  return draw_page(page_data(figure, {}, limits), "eJwDAAAAAAE=");
}

}  // namespace

TEST_CASE("page: a stream of runs is read back as the cells of any mask", "[page]") {
  std::mt19937 random(5);
  const auto draw = [&](Index low, Index high) {
    return low + static_cast<Index>(random() % static_cast<unsigned>(high - low + 1));
  };
  RunStream stream(std::size_t{1} << 20);
  for (int round = 0; round < 300; ++round) {
    const Index rows = draw(1, 40), columns = draw(1, 150), share = draw(0, 20);
    Tensor dense(DType::kBool, {1, 1, rows, columns});
    const bool repeats = draw(0, 1) == 1;
    for (Index q = 0; q < rows; ++q) {
      auto row = dense.as<std::uint8_t>().subspan(as_size(q * columns), as_size(columns));
      if (repeats && q > 0 && draw(0, 2) > 0) {
        std::copy_n(row.data() - columns, columns, row.data());
        continue;
      }
      for (std::uint8_t& cell : row) cell = draw(0, 20) < share;
    }
    const Mask drawn = draw(0, 2) > 0 ? mask_from_dense(dense)
                                      : apply(full_mask(1, 1, rows, columns),
                                              {step::Causal{.align = Align::kBottomRight},
                                               step::Dilated{.stride = draw(1, 4)}});
    const Plane& plane = *drawn.plane(0, 0);
    const BlockSize size{draw(1, 5), draw(1, 70)};
    const Range q{draw(0, 1) * size.q, rows}, k{draw(0, 1) * size.k, columns};
    if (q.empty() || k.empty()) continue;
    const auto cells = stream.add(cell_rows(plane, q, k));
    REQUIRE(cells);
    CHECK(read_list(stream.bytes(), stream.offsets()[*cells], k.size()) ==
          plain(plane, q, k, {1, 1}, false));
    const TileMap map = tile_map(plane, size.q, size.k);
    for (const bool full : {false, true}) {
      const auto tiles = stream.add(tile_rows(plane, size, q, k, full));
      REQUIRE(tiles);
      CHECK(read_list(stream.bytes(), stream.offsets()[*tiles], ceil_div(k.size(), size.k)) ==
            plain(plane, q, k, size, full));
      CHECK(stream.add(tile_rows(map, q, k, full)) == tiles);
    }
    CHECK(stream.add(cell_rows(plane, q, k)) == cells);
  }
}

TEST_CASE("page: masks with straight edges take a few bytes at any length", "[page]") {
  RunStream stream(100);
  const PlanePtr causal = diagonal_band(1000000, 1000000, -kUnbounded, 0);
  REQUIRE(stream.add(cell_rows(*causal, {0, 1000000}, {0, 1000000})) == std::size_t{0});
  CHECK(stream.bytes().size() < 12);
}

TEST_CASE("page: a stream that would be too long is refused", "[page]") {
  RunStream stream(1000);
  const Mask dilated = apply(full_mask(1, 1, 500, 500), {step::Dilated{.stride = 2}});
  CHECK_FALSE(stream.add(cell_rows(*dilated.plane(0, 0), {0, 500}, {0, 500})));
}

TEST_CASE("page: too many runs are drawn in larger units, and the page says so", "[page]") {
  const Mask dilated = apply(full_mask(1, 1, 100, 100), {step::Dilated{.stride = 7}});
  const Figure figure = test::figure_of(dilated.plane(0, 0));
  CHECK(test::contains(page_data(figure, {}).json, "\"unit\":[1,1]"));
  const PageData coarse = page_data(figure, {}, {.run_bytes = 300});
  CHECK(coarse.runs.size() <= 300);
  CHECK(test::contains(coarse.json, "\"kind\":\"tiles\""));
  CHECK_FALSE(test::contains(coarse.json, "\"unit\":[1,1]"));
  CHECK(test::contains(coarse.json, "the page shows units of "));
}

TEST_CASE("page: it holds title, counts, ids, tokens, steps and findings", "[page]") {
  const std::vector<std::int32_t> ids = {0, 0, 1, 1, -1};
  Figure figure = test::labelled(diagonal_band(5, 5, -kUnbounded, 0), ids, ids);
  figure.name = "causal.npy";
  figure.panels.front().members = {{0, 0}};
  const AxisLabels labels{{"a", "b", "c", "d", "e"}, 1};
  figure.q_labels = figure.k_labels = &labels;
  const Mask full = full_mask(1, 1, 5, 5);
  PageNotes notes;
  notes.steps = {{"causal", full}, {"lost", std::nullopt}};
  notes.findings = {{"error", "document-leak", "4 cells", 0, 0, 2, 0}};
  notes.not_looked_at = {"bias"};
  figure.notes = &notes;
  const PageData data = page_data(figure, {});
  for (const char* part :
       {"\"title\":[\"causal.npy\"]", "5 queries x 5 keys, 15 open (60.0%)", "4 leaks",
        "\"tokens\":[[\"a\",\"b\",\"c\",\"d\",\"e\"],0]", "[[2,0,0],[2,1,1],[1,null,16]]",
        "\"steps\":[\"causal\",\"lost\"]", "\"decided\":[2,null]", "\"query\":2,\"key\":0}",
        "\"notLookedAt\":[\"bias\"]", "\"members\":[[0,0]]", "\"layers\":[0,1]"}) {
    INFO(part);
    CHECK(test::contains(data.json, part));
  }
  CHECK(data.title == "causal.npy");
  CHECK(draw(figure) == draw(figure));
  CHECK(test::contains(page_data(figure, {}, {.axis_bytes = 10}).json, "The page lacks tokens"));
}

TEST_CASE("page: if steps decided other cells in other batches and heads, the page says so",
          "[page]") {
  Figure figure = test::figure_of(full_plane(3, 3));
  figure.panels.front().members = {{0, 0}, {0, 1}};
  PageNotes notes;
  notes.steps = {{"heads:0{not | not}", Mask(1, 2, {full_plane(3, 3), empty_plane(3, 3)}, {0, 1})}};
  figure.notes = &notes;
  const std::string json = page_data(figure, {}).json;
  CHECK(test::contains(json, "\"decided\":[null]"));
  CHECK(test::contains(json, "Some batches and heads are equal after different steps"));
}

TEST_CASE("page: a page loads nothing from elsewhere and has no unfilled placeholder", "[page]") {
  const std::string text = draw(test::figure_of(full_plane(5, 5)));
  CHECK(test::contains(text, "default-src 'none'"));
  for (const char* word :
       {"http://", "https://", "url(", "<link", "src=", "import ", "fetch(", "%%"}) {
    INFO(word);
    CHECK_FALSE(test::contains(text, word));
  }
}

TEST_CASE("page: names cannot add markup or end the script", "[page]") {
  Figure figure = test::figure_of(full_plane(2, 2));
  const std::string hostile =
      "</script></title><img src=x onerror=alert(1)>\"\\ <!--\xE2\x80\xA8\xE2\x80\xAE %%data%% "
      "&lt; \xff";
  figure.name = hostile;
  figure.panels.front().name = hostile;
  const AxisLabels labels{{hostile, "<script>"}, 1};
  figure.q_labels = figure.k_labels = &labels;
  PageNotes notes;
  notes.steps = {{hostile, std::nullopt}};
  notes.findings = {{hostile, hostile, hostile, 0, 0, 0, 0}};
  notes.remarks = {hostile};
  figure.notes = &notes;
  const std::string text = draw(figure), plain = draw(test::figure_of(full_plane(2, 2)));
  const auto count = [](const std::string& in, const std::string& word) {
    Index out = 0;
    for (std::size_t at = in.find(word); at != std::string::npos; at = in.find(word, at + 1)) ++out;
    return out;
  };
  for (const char* word :
       {"<script", "</script", "</title", "<img", "<!--", "\xE2\x80\xA8", "\xE2\x80\xAE", "\xff"}) {
    INFO(word);
    CHECK(count(text, word) == count(plain, word));
  }
  CHECK(test::contains(text, "&lt;/script&gt;&lt;/title&gt;&lt;img src=x"));
  CHECK(json_string("a\"\\</script>\n&") == R"("a\"\\\u003c/script\u003e\\x0a\u0026")");
}

}  // namespace maskctl
