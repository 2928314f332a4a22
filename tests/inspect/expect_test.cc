// Expectations about masks, against loops over every cell.
#include "maskctl/inspect/check/expect.h"

#include <fmt/format.h>

#include "inspect/random_masks.h"
#include "maskctl/base/error.h"
#include "support/catch_compat.h"
#include "support/contains.h"

namespace maskctl {
namespace {

struct Slow {
  Index count = 0;
  std::optional<Cell> first;

  void add(Cell cell) {
    if (count++ == 0) first = cell;
  }
};

template <typename Wrong>
Slow slow_cells(const twin::Dense& mask, const Wrong& wrong) {
  Slow out;
  for (Index b = 0; b < mask.b; ++b) {
    for (Index h = 0; h < mask.h; ++h) {
      for (Index q = 0; q < mask.q; ++q) {
        for (Index k = 0; k < mask.k; ++k) {
          if (wrong(mask.get(b, h, q, k), b, h, q, k)) out.add({b, h, q, k});
        }
      }
    }
  }
  return out;
}

bool any_open(const twin::Dense& mask, Index b, Index h, Index q, Range keys) {
  for (Index k = keys.begin; k < std::min(keys.end, mask.k); ++k) {
    if (mask.get(b, h, q, k)) return true;
  }
  return false;
}

Slow slow_empty_rows(const twin::Dense& mask) {
  Slow out;
  for (Index i = 0; i < mask.b * mask.h * mask.q; ++i) {
    const Index b = i / (mask.h * mask.q), h = i / mask.q % mask.h, q = i % mask.q;
    if (!any_open(mask, b, h, q, {0, mask.k})) out.add({b, h, q, -1});
  }
  return out;
}

/// The first block of keys in which any row of this row's block is open; all keys if there is none.
Range first_block(const twin::Dense& mask, Index b, Index h, Index row, BlockSize block) {
  const Index begin = row / block.q * block.q;
  for (Index k = 0; k < mask.k; k += block.k) {
    for (Index q = begin; q < std::min(begin + block.q, mask.q); ++q) {
      if (any_open(mask, b, h, q, {k, k + block.k})) return {k, k + block.k};
    }
  }
  return {0, mask.k};
}

Slow slow_unsafe_rows(const twin::Dense& mask, BlockSize block) {
  Slow out;
  for (Index i = 0; i < mask.b * mask.h * mask.q; ++i) {
    const Index b = i / (mask.h * mask.q), h = i / mask.q % mask.h, q = i % mask.q;
    if (!any_open(mask, b, h, q, first_block(mask, b, h, q, block))) out.add({b, h, q, -1});
  }
  return out;
}

Slow slow_partial_blocks(const twin::Dense& mask, BlockSize block) {
  Slow out;
  for (Index b = 0; b < mask.b; ++b) {
    for (Index h = 0; h < mask.h; ++h) {
      const twin::Dense plane = twin::plane_of(mask, b, h);
      for (Index q = 0; q < mask.q; q += block.q) {
        for (Index k = 0; k < mask.k; k += block.k) {
          const Range rows{q, std::min(q + block.q, mask.q)},
              keys{k, std::min(k + block.k, mask.k)};
          if (twin::classify(plane, rows, keys) == Fill::kPartial) out.add({b, h, q, k});
        }
      }
    }
  }
  return out;
}

void check_same(const ExpectationResult& fast, const Slow& slow) {
  INFO(fast.text);
  CHECK(fast.count == slow.count);
  CHECK(fast.holds == (slow.count == 0));
  CHECK(fast.first == slow.first);
}

ExpectationResult ask(const Mask& mask, expect::Rule rule, std::string text) {
  return check(mask, {std::move(rule), std::move(text)});
}

void check_blocks_and_rows(const test::MaskPair& pair, BlockSize block) {
  check_same(ask(pair.mask, expect::NoEmptyRows{}, "no-empty-rows"), slow_empty_rows(pair.dense));
  check_same(ask(pair.mask, expect::BlockAligned{block}, "block-aligned"),
             slow_partial_blocks(pair.dense, block));
  check_same(ask(pair.mask, expect::RowSafe{block}, "row-safe"),
             slow_unsafe_rows(pair.dense, block));
}

TEST_CASE("expectations equal loops over every cell", "[expect]") {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    INFO("round " << round);
    const Index queries = 1 + static_cast<Index>(random() % 40);
    const Index keys = random() % 2 ? queries : 1 + static_cast<Index>(random() % 140);
    const test::MaskPair pair = test::random_mask(random, queries, keys);
    check_blocks_and_rows(
        pair, {1 + static_cast<Index>(random() % 9), 1 + static_cast<Index>(random() % 70)});
    const Index shift = keys - queries;
    const Chain causal = test::chain_of("causal:align=bottom-right");
    check_same(ask(pair.mask, expect::Within{causal}, "causal"),
               slow_cells(pair.dense, [shift](bool open, Index, Index, Index q, Index k) {
                 return open && k > q + shift;
               }));
    const Chain window = test::chain_of("window:left=3,right=2,align=top-left");
    const auto inside = [](Index q, Index k) { return k >= q - 3 && k <= q + 2; };
    check_same(ask(pair.mask, expect::Within{window}, "window"),
               slow_cells(pair.dense, [&](bool open, Index, Index, Index q, Index k) {
                 return open && !inside(q, k);
               }));
    check_same(ask(pair.mask, expect::Covers{window}, "covers"),
               slow_cells(pair.dense, [&](bool open, Index, Index, Index q, Index k) {
                 return !open && inside(q, k);
               }));
    const Slow sinks = slow_cells(pair.dense, [&](bool open, Index, Index, Index q, Index k) {
      return k == 0 && !open && inside(q, k);
    });
    CHECK(test::contains(ask(pair.mask, expect::Covers{window}, "covers").detail,
                         sinks.count == 0 ? "" : fmt::format("{} row", sinks.count)));
    check_same(ask(pair.mask, expect::Equals{window}, "equals"),
               slow_cells(pair.dense, [&](bool open, Index, Index, Index q, Index k) {
                 return open != inside(q, k);
               }));
    const test::MaskPair other = test::random_mask(random, queries, keys);
    if (other.dense.b > pair.dense.b || other.dense.h > pair.dense.h) continue;
    check_same(ask(pair.mask, expect::SubsetOf{other.mask}, "subset-of"),
               slow_cells(pair.dense, [&](bool open, Index b, Index h, Index q, Index k) {
                 return open && !other.dense.get(b, h, q, k);
               }));
  }
}

TEST_CASE("the expectation symmetric compares each cell with its mirror image", "[expect]") {
  std::mt19937 random(3);
  for (int round = 0; round < 100; ++round) {
    INFO("round " << round);
    const Index n = 1 + static_cast<Index>(random() % 70);
    const test::MaskPair pair = test::random_mask(random, n, n);
    check_same(ask(pair.mask, expect::Symmetric{}, "symmetric"),
               slow_cells(pair.dense, [&](bool open, Index b, Index h, Index q, Index k) {
                 return open && !pair.dense.get(b, h, k, q);
               }));
  }
  CHECK_THROWS_AS(ask(test::made(3, 4, "window:left=1,align=top-left"), expect::Symmetric{}, ""),
                  Error);
}

TEST_CASE("the expectation density includes both bounds", "[expect]") {
  const Mask mask = test::made(4, 4, "causal");  // 10 of 16 cells are open
  const auto holds = [&mask](std::optional<double> min, std::optional<double> max) {
    return ask(mask, expect::Density{min, max}, "density").holds;
  };
  CHECK(holds(0.625, 0.625));
  CHECK(holds({}, 0.7));
  CHECK(holds(0.5, {}));
  CHECK_FALSE(holds(0.63, {}));
  CHECK_FALSE(holds({}, 0.62));
}

TEST_CASE("an expectation that does not fit the shape is an error", "[expect]") {
  const Mask mask = test::made(3, 5, "window:left=2,align=top-left");
  CHECK_THROWS_AS(ask(mask, expect::Within{test::chain_of("causal")}, ""), Error);
  CHECK_THROWS_AS(ask(mask, expect::Equals{test::chain_of("slice:q=0:2")}, ""), Error);
  CHECK_THROWS_AS(ask(mask, expect::SubsetOf{test::made(5, 5, "causal")}, ""), Error);
  CHECK_THROWS_AS(ask(mask, expect::RowSafe{{0, 4}}, ""), Error);
}

TEST_CASE("a plain window is not row-safe", "[expect]") {
  const ExpectationResult found =
      ask(test::made(256, 256, "window:keys=8"), expect::RowSafe{{128, 128}}, "row-safe");
  CHECK(found.count == 121);  // in rows 135 to 255 the first of the 8 keys is at least 128
  CHECK(found.first == Cell{0, 0, 135, -1});
  CHECK(found.detail.empty());
}

}  // namespace
}  // namespace maskctl
