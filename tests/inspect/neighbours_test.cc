// Tests the neighbours of a mask, which are masks that a kernel may apply by mistake instead.
#include "maskctl/inspect/recognise/neighbours.h"

#include <algorithm>
#include <set>
#include <string>

#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/leaves.h"
#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/document.h"
#include "maskctl/mask/steps/step.h"
#include "support/catch_compat.h"

namespace {

using namespace maskctl;

const Mask* named(const std::vector<Neighbour>& all, const std::string& text) {
  const auto found = std::ranges::find(all, text, &Neighbour::text);
  return found == all.end() ? nullptr : &found->mask;
}

bool same(const Mask& a, const Mask& b) { return zip(Op::kXor, a, b).count() == 0; }

Mask causal_window(Index n, Index left, Index right = 0) {
  return Mask(diagonal_band(n, n, -left, right));
}

TEST_CASE("neighbours: a window has longer, shorter, missing, two-sided and shifted neighbours") {
  const auto all = neighbours(causal_window(40, 7));
  const auto check = [&](const char* text, const Mask& mask) {
    INFO(text);
    REQUIRE(named(all, text));
    CHECK(same(*named(all, text), mask));
  };
  check("window left 8 instead of 7", causal_window(40, 8));
  check("window left 6 instead of 7", causal_window(40, 6));
  check("window open to the left", causal_window(40, kUnbounded));
  check("window to both sides", causal_window(40, 7, 7));
  check("inverted", complement(causal_window(40, 7)));
  check("window right 1 instead of 0", causal_window(40, 7, 1));
}

TEST_CASE("neighbours: no neighbour equals the mask or another neighbour") {
  for (const Mask& mask : {causal_window(30, 4), Mask(full_plane(5, 9)), Mask(empty_plane(6, 6)),
                           Mask(diagonal_band(9, 20, -kUnbounded, 11))}) {
    const auto all = neighbours(mask);
    CHECK_FALSE(all.empty());
    for (std::size_t i = 0; i < all.size(); ++i) {
      CHECK_FALSE(same(all[i].mask, mask));
      for (std::size_t j = 0; j < i; ++j) {
        INFO(all[i].text << " and " << all[j].text);
        CHECK_FALSE(same(all[i].mask, all[j].mask));
      }
    }
  }
}

TEST_CASE("neighbours: documents are left out, joined and moved") {
  const auto causal_documents = [](const std::vector<Index>& lengths) {
    const Chain chain{{step::DocumentLengths{lengths}}, {step::Causal{}}};
    return maskctl::apply(Mask(full_plane(60, 60)), chain);
  };
  const auto all = neighbours(causal_documents({20, 13, 27}));
  REQUIRE(named(all, "without documents"));
  CHECK(same(*named(all, "without documents"), causal_window(60, kUnbounded)));
  REQUIRE(named(all, "documents 1 and 2 as one"));
  CHECK(same(*named(all, "documents 1 and 2 as one"), causal_documents({20, 40})));
  REQUIRE(named(all, "without causal"));
}

TEST_CASE("neighbours: a cell that no step explains is kept in them") {
  const Mask declared = causal_window(40, kUnbounded);
  Tensor cells = dense_from_mask(declared, 1 << 20);
  cells.as<std::uint8_t>()[3 * 40 + 30] = 1;
  const auto all = neighbours(mask_from_dense(cells));
  CHECK(std::ranges::any_of(all, [](const Neighbour& other) {
    return other.mask.plane(0, 0)->count({3, 4}, {30, 31}) == 1 && other.text != "no mask";
  }));
}

TEST_CASE("neighbours: the other alignment and reversed heads are among them") {
  const auto all = neighbours(Mask(diagonal_band(9, 20, -kUnbounded, 11)));
  CHECK(std::ranges::any_of(all, [](const Neighbour& other) {
    return same(other.mask, Mask(diagonal_band(9, 20, -kUnbounded, 0)));
  }));
  const Mask two = Mask::make(1, 2, 30, 30, [](Index, Index h) {
    return causal_window(30, h == 0 ? 5 : kUnbounded).plane(0, 0);
  });
  const auto heads = neighbours(two);
  REQUIRE(named(heads, "heads in reverse"));
  CHECK(named(heads, "heads in reverse")->plane(0, 0)->count() ==
        causal_window(30, kUnbounded).count());
}

TEST_CASE("neighbours: keys at a side that are not read are named, not a mask that moved") {
  const Mask full(full_plane(50, 81));
  const auto usual = neighbours(full);
  const auto rare = rare_neighbours(full, nullptr, usual);
  const auto check = [](const std::vector<Neighbour>& all, const char* text, Range read) {
    INFO(text);
    REQUIRE(named(all, text));
    CHECK(same(*named(all, text), Mask(key_ranges(50, 81, std::vector{read}))));
  };
  check(usual, "key 80 not read", {0, 80});
  check(usual, "key 0 not read", {1, 81});
  check(rare, "keys 64-80 not read", {0, 64});
  check(rare, "keys 79-80 not read", {0, 79});
  for (const auto* all : {&usual, &rare}) {
    CHECK(std::ranges::none_of(
        *all, [](const Neighbour& one) { return one.text.find("moved by") != std::string::npos; }));
  }
  CHECK(named(rare_neighbours(causal_window(40, 7), nullptr, {}), "moved by 2 keys to the left"));
}

}  // namespace
