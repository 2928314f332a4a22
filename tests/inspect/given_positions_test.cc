// Tests what recognise finds where the positions of tokens are given.
#include <fmt/format.h>

#include <numeric>
#include <random>

#include "maskctl/base/error.h"
#include "maskctl/inspect/recognise/recognise.h"
#include "maskctl/mask/steps/at.h"
#include "maskctl/mask/steps/chain_text.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/pipeline/steps/bind.h"
#include "support/catch_compat.h"
#include "support/rounds.h"

namespace maskctl {
namespace {

using Numbers = std::vector<Index>;

NamedArray array_of(const Numbers& numbers, Index rows = 1) {
  NamedArray out = fields::numbers(numbers);
  out.text = "positions.npy";
  if (rows > 1) out.array.reshape({rows, std::ssize(numbers) / rows});
  return out;
}

/// The chain at positions, applied to open cells.
Mask made_at(const GivenPositions& at, const std::string& chain, Index batch, Index queries,
             Index keys) {
  step::At step;
  step.q = at.q;
  step.kv = at.kv;
  step.chain = bind(parse(chain), {});
  return apply(full_mask(batch, 1, queries, keys), Step(step));
}

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}
  Index number(Index low, Index high) {
    return std::uniform_int_distribution<Index>(low, high)(random_);
  }
  /// Positions of `count` of `n` tokens: in order, in stretches, or anyhow; some tokens may recur.
  Numbers positions(Index count, Index n) {
    Numbers all(static_cast<std::size_t>(n));
    std::iota(all.begin(), all.end(), Index{0});
    const Index how = number(0, 3);
    if (how == 0) std::ranges::shuffle(all, random_);
    if (how == 1) {
      std::ranges::rotate(all, all.begin() + number(0, n - 1));
    }
    if (how == 2) {
      std::ranges::shuffle(all, random_);
      std::sort(all.begin(), all.begin() + count);
    }
    all.resize(static_cast<std::size_t>(count));
    if (how == 3) all[as_size(number(0, count - 1))] = number(0, n - 1);
    return all;
  }
  std::string chain(Index n) {
    const std::vector<std::string> all{
        "causal",
        fmt::format("window:keys={}", number(1, n)),
        fmt::format("window:left={},right={}", number(0, n / 2), number(0, n / 2)),
        fmt::format("window:both={}", number(0, 4)),
        fmt::format("chunk:size={} | causal", number(2, n)),
        fmt::format("chunk:size={}", number(2, n)),
        fmt::format("causal | prefix:n={}", number(1, n / 2)),
        fmt::format("window:keys={} | sinks:n={} | causal", number(1, n / 2), number(1, 4))};
    return all[as_size(number(0, std::ssize(all) - 1))];
  }

 private:
  std::mt19937_64 random_;
};

TEST_CASE("masks at given positions are recognised at them, whatever the positions are",
          "[recognise][positions]") {
  const int draws = test::rounds(1000);
  int found = 0;
  for (int i = 0; i < draws; ++i) {
    Draw draw(static_cast<std::uint64_t>(i));
    const Index n = draw.number(8, 48), queries = draw.number(4, n), keys = draw.number(4, n);
    const bool shared = draw.number(0, 1) == 0;
    const Numbers q = draw.positions(shared ? keys : queries, n);
    const Numbers k = shared ? q : draw.positions(keys, n);
    const GivenPositions at{array_of(q), array_of(k)};
    const std::string chain = draw.chain(n);
    const Mask mask = made_at(at, chain, 1, std::ssize(q), std::ssize(k));
    Recognised seen = recognise(mask, at);
    ArrayNames names([](const std::string& name) { return name + ".npy"; });
    names.name(seen.chain);
    CAPTURE(i, chain, to_text(seen.chain));
    if (seen.residue.cells == 0) {
      CHECK(differing_cells(apply(full_like(mask), seen.chain), mask) == 0);
    }
    const bool as_given = seen.chain.size() == 1 && seen.chain.front().is<step::At>() &&
                          seen.chain.front().as<step::At>().q == at.q;
    found += as_given;
  }
  CHECK(found >= draws * 85 / 100);  // the others follow each other, or leave few cells
}

TEST_CASE("positions of each batch entry have the numbers of their own chains",
          "[recognise][positions]") {
  const GivenPositions at{array_of({0, 1, 6, 7, 2, 3, 4, 5}, 2),
                          array_of({0, 1, 6, 7, 2, 3, 4, 5}, 2)};
  const Mask mask = made_at(at, "causal:offset=0+1", 2, 4, 4);
  const Recognised found = recognise(mask, at);
  CHECK(found.residue.cells == 0);
  CHECK(to_text(found.chain) == "at:q=positions.npy,kv=positions.npy{causal:offset=0+1}");
}

TEST_CASE("a long rank is recognised at its positions", "[recognise][positions]") {
  Numbers tokens(std::size_t{1} << 16);
  const auto half = static_cast<Index>(tokens.size()) / 2;
  for (Index i = 0; i < 2 * half; ++i) tokens[as_size(i)] = i < half ? i : 14 * half + i;
  const GivenPositions at{array_of(tokens), array_of(tokens)};
  const Mask mask = made_at(at, "window:keys=4096", 1, 2 * half, 2 * half);
  const Recognised found = recognise(mask, at);
  CHECK(found.residue.cells == 0);
  CHECK(to_text(found.chain) == "at:q=positions.npy,kv=positions.npy{window:keys=4096}");
}

TEST_CASE("positions that are not of the mask are refused", "[recognise][positions]") {
  const Mask mask = full_mask(1, 1, 4, 4);
  CHECK_THROWS_AS(recognise(mask, {array_of({0, 1, 2}), array_of({0, 1, 2, 3})}), Error);
  CHECK_THROWS_AS(recognise(mask, {array_of({0, 1, 2, -1}), array_of({0, 1, 2, 3})}), Error);
}

}  // namespace
}  // namespace maskctl
