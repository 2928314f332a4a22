// Tests what recognise and check say of trees of which windows hide old ancestors, of heads with
// trees of their own, and of other rules with odd cells.
#include <fmt/format.h>

#include <random>

#include "inspect/random_masks.h"
#include "maskctl/inspect/check/check.h"
#include "maskctl/inspect/recognise/recognise.h"
#include "maskctl/mask/steps/chain_text.h"
#include "maskctl/mask/steps/tree.h"
#include "support/catch_compat.h"
#include "support/rounds.h"
#include "support/twin.h"

namespace maskctl::test {
namespace {

/// Tokens, each of which continues the one before it or an earlier one, as a step.
std::string drawn_tree(std::mt19937_64& random, Index stretches) {
  std::string lens, after;
  for (Index i = 0; i < stretches; ++i) {
    const auto pick = [&](Index low, Index high) {
      return std::uniform_int_distribution<Index>(low, high)(random);
    };
    lens += fmt::format("{}{}", i > 0 ? "+" : "", pick(3, 9));
    after +=
        fmt::format("{}{}", i > 0 ? "+" : "", i == 0 ? 0 : pick(std::max<Index>(0, i - 4), i - 1));
  }
  return fmt::format("tree:lens={},after={}", lens, after);
}

TEST_CASE("trees come back below windows and sinks, and their leaks are told", "[recognise]") {
  std::mt19937_64 random(62);
  for (Index i = 0; i < rounds(60); ++i) {
    const Chain tree = chain_of(drawn_tree(random, 9));
    Index tokens = 0;
    for (const Index length : tree.front().as<step::Tree>().lens) tokens += length;
    const Index left = 3 + i % 9, sinks = i % 3;
    Chain chain = chain_of(fmt::format("window:left={}", left) +
                           (sinks > 0 ? fmt::format(" | sinks:n={}", sinks) : ""));
    chain.push_back(tree.front());
    const Mask mask = maskctl::apply(full_mask(1, 1, tokens, tokens), chain);
    const Recognised found = recognise(mask, {.guess = false});
    INFO(to_text(chain) << ": " << to_text(found.chain));
    CHECK(found.residue.cells == 0);
    CHECK(check({.start = mask}).ok());
    twin::Dense cells = twin::dense_of(mask);
    Index planted = 0;
    while (planted < 2) {
      const auto q = static_cast<Index>(random() % static_cast<std::uint64_t>(tokens));
      const auto k = static_cast<Index>(random() % static_cast<std::uint64_t>(tokens));
      if (k >= q || cells.get(0, 0, q, k)) continue;
      cells.set(0, 0, q, k, true);
      ++planted;
    }
    CHECK_FALSE(check({.start = twin::mask_of(cells)}).ok());
  }
}

TEST_CASE("heads of different trees are told, windows of one tree are not", "[lint]") {
  const auto is_sound = [](const std::string& heads) {
    return check({.start = maskctl::apply(full_mask(1, 2, 30, 30), chain_of(heads))}).ok();
  };
  const std::string one = "tree:lens=6+7+9+8,after=0+0+1+1";
  for (const char* other : {"tree:lens=6+7+9+8,after=0+0+1+0", "tree:lens=6+7+9+8,after=0+0+0+1",
                            "tree:lens=4+9+5+12,after=0+0+0+1"}) {
    INFO(other);
    CHECK_FALSE(is_sound("heads:0{" + one + "} | heads:1{" + other + "}"));
  }
  CHECK(is_sound("heads:0{window:left=7} | " + one));
}

TEST_CASE("an odd cell changes no prefix, no blocks, no window of a grid and no rank",
          "[recognise]") {
  struct Case {
    Index queries, keys;
    std::string steps;
    Index q, k;
  };
  for (const Case& one :
       {Case{49, 49, "causal | prefix:n=43", 15, 35}, Case{29, 29, "block-causal:size=9", 3, 20},
        Case{29, 29, "neighbourhood:window=11", 3, 20},
        Case{24, 48, "at:queries=0-46,stride=2{causal}", 5, 30},
        Case{20, 60, "at:queries=10-19+40-49{causal}", 4, 30}}) {
    const Chain chain = chain_of(one.steps);
    twin::Dense cells =
        twin::dense_of(maskctl::apply(full_mask(1, 1, one.queries, one.keys), chain));
    cells.set(0, 0, one.q, one.k, !cells.get(0, 0, one.q, one.k));
    const Recognised found = recognise(twin::mask_of(cells), {.guess = false});
    INFO(to_text(found.chain));
    CHECK(to_text(found.chain) == one.steps);
    CHECK(found.residue.cells == 1);
    CHECK_FALSE(check({.start = twin::mask_of(cells)}).ok());
  }
}

}  // namespace
}  // namespace maskctl::test
