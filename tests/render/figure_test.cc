// Tests what all drawings have in common: panels, axes, colours and words.
#include "maskctl/render/figure/figure.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include "maskctl/base/error.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/render/figure/words.h"
#include "render/figures.h"
#include "support/catch_compat.h"
#include "support/error_of.h"

namespace maskctl {
namespace {

constexpr Palette kPalettes[] = {Palette::kCividis, Palette::kViridis, Palette::kGrey};

std::vector<std::string> names(const std::vector<Panel>& panels) {
  std::vector<std::string> out(panels.size());
  std::ranges::transform(panels, out.begin(), &Panel::name);
  return out;
}

/// A mask whose batch entries and heads have plane 0 (full) or 1 (empty), as `which` says.
Mask mask_of(Index batches, Index heads, const std::vector<std::uint32_t>& which) {
  return Mask(batches, heads, {full_plane(4, 4), empty_plane(4, 4)}, which);
}

AxisBands bands_of(const std::vector<std::int32_t>& q, const std::vector<std::int32_t>& k,
                   Index step) {
  const Figure figure =
      test::labelled(full_plane(static_cast<Index>(q.size()), static_cast<Index>(k.size())), q, k);
  return axis_bands(figure, figure.panels.front(), step, step);
}

double contrast(Rgb a, Rgb b) {
  const double x = luminance(a), y = luminance(b);
  return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

}  // namespace

TEST_CASE("figure: equal planes are drawn as one panel, named after all of them", "[figure]") {
  const Mask heads = mask_of(1, 6, {0, 0, 0, 0, 1, 0});
  CHECK(names(panels_of(heads, {0, 1}, {0, 6})) ==
        std::vector<std::string>{"heads 0-3, 5", "head 4"});
  CHECK(names(panels_of(heads, {0, 1}, {4, 6})) == std::vector<std::string>{"head 4", "head 5"});
  CHECK(names(panels_of(mask_of(1, 1, {0}), {0, 1}, {0, 1})) == std::vector<std::string>{""});
  CHECK(names(panels_of(mask_of(3, 1, {0, 1, 0}), {0, 3}, {0, 1})) ==
        std::vector<std::string>{"batches 0, 2", "batch 1"});
  CHECK(names(panels_of(mask_of(2, 2, {0, 0, 0, 1}), {0, 2}, {0, 2})) ==
        std::vector<std::string>{"batch 1, head 0; batch 0, heads 0-1", "batch 1, head 1"});
  CHECK(names(panels_of(mask_of(2, 2, {0, 1, 0, 1}), {0, 2}, {0, 2})) ==
        std::vector<std::string>{"batches 0-1, head 0", "batches 0-1, head 1"});
  CHECK_THROWS_AS(panels_of(heads, {0, 1}, {0, 7}), Error);
}

TEST_CASE("figure: equal planes with different ids or a different B get panels of their own",
          "[figure]") {
  const Mask mask = mask_of(2, 1, {0, 0});
  Tensor ids(DType::kInt32, {2, 4});
  std::ranges::fill(ids.as<std::int32_t>(), 0);
  CHECK(panels_of(mask, {0, 2}, {0, 1}, {ids, ids}).size() == 1);
  Tensor others = ids;
  others.as<std::int32_t>()[5] = 1;
  CHECK(panels_of(mask, {0, 2}, {0, 1}, {others, others}).size() == 2);
  const Mask other = mask_of(2, 1, {0, 1});
  CHECK(panels_of(mask, {0, 2}, {0, 1}, {}, &other).size() == 2);
  const Mask wider = mask_of(3, 1, {0, 1, 0});
  CHECK(test::error_of([&] {
          panels_of(mask, {0, 2}, {0, 1}, {}, &wider);
        }).find("masks of the shapes [B 2, H 1, Q 4, K 4] and [B 3,") == 0);
}

TEST_CASE("figure: all panels of a figure must be of one kind and size", "[figure]") {
  Figure figure = test::figure_of(full_plane(4, 4));
  figure.panels.push_back({.plane = full_plane(4, 4), .other = full_plane(4, 4)});
  CHECK_THROWS_AS(check_figure(figure), Error);
  figure.panels.back() = {.plane = full_plane(4, 5)};
  CHECK_THROWS_AS(check_figure(figure), Error);
  figure.panels.back() = {.plane = empty_plane(4, 4)};
  CHECK_NOTHROW(check_figure(figure));
  figure.panels.resize(kMostPanels, figure.panels.back());
  CHECK_NOTHROW(check_figure(figure));
  figure.panels.push_back(figure.panels.back());
  CHECK(test::error_of([&] { check_figure(figure); }).find("257 different masks on one sheet") ==
        0);
}

TEST_CASE("figure: the inks of a set have different colours and signs", "[figure]") {
  for (const Palette palette : kPalettes) {
    for (const InkSet set : {InkSet::kMask, InkSet::kOverlay, InkSet::kTiles}) {
      const std::vector<Ink>& table = inks(set, palette);
      for (std::size_t i = 0; i < table.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) CHECK_FALSE(table[i].color == table[j].color);
      }
      for (const bool blocks : {false, true}) {
        for (const LegendEntry& entry : legend_entries(set, blocks, set != InkSet::kOverlay)) {
          for (const std::uint8_t number : entry.inks) CHECK(number < table.size());
        }
      }
      // In a terminal no shade in between has the colour of "none" or "all".
      for (const std::uint8_t end : {ink::kNone, ink::kAll}) {
        for (std::uint8_t i = 1; set == InkSet::kMask && i < ink::kAll; ++i) {
          CHECK(terminal_color(table[i].color) != terminal_color(table[end].color));
        }
      }
    }
  }
}

TEST_CASE("figure: marks have a contrast and signs by which the colour-blind can tell them",
          "[figure]") {
  for (const Palette palette : kPalettes) {
    for (const InkSet set : {InkSet::kMask, InkSet::kOverlay}) {
      const std::vector<Ink>& table = inks(set, palette);
      for (std::uint8_t mark = 0; mark < table.size(); ++mark) {
        for (std::uint8_t other = 0; is_mark(set, mark) && other < table.size(); ++other) {
          if (is_mark(set, other)) continue;
          CAPTURE(int(palette), int(mark), int(other));
          CHECK(contrast(table[mark].color, table[other].color) > 1.6);
          CHECK(table[mark].ascii != table[other].ascii);
          CHECK(table[mark].shade != table[other].shade);
        }
      }
    }
    const std::vector<Ink>& table = inks(InkSet::kMask, palette);
    CHECK(contrast(table[ink::kLeak].color, table[ink::kNone].color) > 2.5);
    CHECK(contrast(table[ink::kLeak].color, table[ink::kAll].color) > 4);
  }
  CHECK(terminal_color({214, 0, 30}) == 160);
  CHECK(terminal_color({0, 0, 0}) == 16);
  CHECK(terminal_color({148, 148, 148}) == 246);
}

TEST_CASE("figure: only exact densities of 0 and 1 are drawn as none and all", "[figure]") {
  CHECK(density_ink(0, 9) == ink::kNone);
  CHECK(density_ink(1, 9) == 1);
  CHECK(density_ink(2, 9) == 2);
  CHECK(density_ink(3, 9) == 3);
  CHECK(density_ink(5, 9) == 4);
  CHECK(density_ink(6, 9) == 5);
  CHECK(density_ink(8, 9) == 6);
  CHECK(density_ink(9, 9) == ink::kAll);
  const Index most = Index{2147483647} * 2147483647;
  CHECK(density_ink(1, most) == 1);
  CHECK(density_ink(most - 1, most) == 6);
  CHECK(density_ink(most, most) == ink::kAll);
}

TEST_CASE("figure: ticks are at round numbers, and are few enough", "[figure]") {
  CHECK(tick_step(4096, 16) == 256);
  CHECK(tick_step(24, 8) == 4);
  CHECK(tick_step(1000, 10) == 100);
  CHECK(tick_step(1000, 9) == 200);
  CHECK(tick_step(1000, 2) == 500);
  CHECK(tick_step(9, 100) == 1);
  CHECK(tick_step(1000000, 8) == 200000);
  CHECK(tick_step(300, 8, 12) == 48);
  for (const Index extent : {Index{1}, Index{31}, Index{1023}, Index{98304}, Index{2147483647}}) {
    for (const Index most : {Index{0}, Index{1}, Index{7}, Index{40}}) {
      for (const Index unit : {Index{1}, Index{6}}) {
        const Index step = tick_step(extent, most, unit);
        CHECK(ceil_div(extent, step) <= std::max<Index>(most, 1));
        CHECK(step % unit == 0);
      }
    }
  }
}

TEST_CASE("figure: units with equal ids form one band, and mixed units are named", "[figure]") {
  const std::vector<std::int32_t> ids = {1, 1, 1, 1, 2, 2, -1, -1, -1};
  const auto titles = [&](Index step) {
    std::vector<std::string> out;
    for (const AxisBand& band : bands_of(ids, ids, step).k) out.push_back(band_title(band));
    return out;
  };
  CHECK(titles(1) == std::vector<std::string>{"segment 1, cells 0-3", "segment 2, cells 4-5",
                                              "padding, cells 6-8"});
  CHECK(titles(3) == std::vector<std::string>{"segment 1, cells 0-2", "several segments, cells 3-5",
                                              "padding, cells 6-8"});
}

TEST_CASE("figure: sixteen segments have different colours, and neighbours always differ",
          "[figure]") {
  std::vector<std::int32_t> ids(16);
  for (std::size_t i = 0; i < 16; ++i) ids[i] = static_cast<std::int32_t>(i) * 16;
  std::set<std::size_t> colors;
  for (const AxisBand& band : bands_of(ids, ids, 1).q) colors.insert(band.color);
  CHECK(colors.size() == 16);
  for (std::size_t i = 0; i < segment_colors().size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const Rgb a = segment_colors()[i], b = segment_colors()[j];
      CHECK(std::hypot(a.r - b.r, a.g - b.g, a.b - b.b) > 35);
    }
  }
  std::mt19937 random(6);
  for (int turn = 0; turn < 200; ++turn) {
    std::vector<std::int32_t> q(60), k(60);
    for (auto* side : {&q, &k}) {
      for (std::int32_t& id : *side) id = static_cast<std::int32_t>(random() % 40);
    }
    const AxisBands bands = bands_of(q, k, 1);
    std::map<std::int32_t, std::size_t> of;
    for (const auto* side : {&bands.q, &bands.k}) {
      for (std::size_t i = 0; i < side->size(); ++i) {
        const AxisBand& band = (*side)[i];
        if (i > 0) CHECK(band.color != (*side)[i - 1].color);
        CHECK(of.emplace(band.id, band.color).first->second == band.color);
      }
    }
  }
}

TEST_CASE("figure: the title of an overlay names both masks, and is cut in the middle",
          "[figure]") {
  Figure figure = test::figure_of(full_plane(2, 2), full_plane(2, 2));
  CHECK(title_lines(figure, 0).empty());
  figure.name = "a.npy | causal";
  CHECK(title_lines(figure, 0) == std::vector<std::string>{"A: a.npy | causal", "B: -"});
  CHECK(shortened("0123456789", 10) == "0123456789");
  CHECK(shortened("0123456789", 9) == "012...789");
  CHECK(shortened("0123456789", 8) == "012...89");
  CHECK(shortened("0123456789", 2) == "..");
  CHECK(shortened("\xC3\xA9\xC3\xA8\xC3\xA9\xC3\xA8\xC3\xA9\xC3\xA8", 5) == "\xC3\xA9...\xC3\xA8");
  figure.name = "a\x1B\xFF";
  CHECK(title_lines(figure, 0).front() == "A: a\\x1b\\xff");
  CHECK(ascii_text("a\xC3\xA9"
                   "b\n") == "a?b?");
}

}  // namespace maskctl
