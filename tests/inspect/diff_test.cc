// diff() of two masks, against a comparison of every cell.
#include "maskctl/inspect/diff/diff.h"

#include <random>

#include "maskctl/base/error.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/leaves.h"
#include "support/catch_compat.h"
#include "support/random_chain.h"

namespace maskctl {
namespace {

/// The diff of two masks by plain loops over every cell; batch and heads broadcast.
struct SlowDiff {
  MaskDiff out;

  SlowDiff(const Mask& a, const Mask& b, BlockSize block) {
    out.block = block;
    const Index batch = std::max(a.batch(), b.batch()), heads = std::max(a.heads(), b.heads());
    const Tensor cells_a = dense_from_mask(a, Index{1} << 30);
    const Tensor cells_b = dense_from_mask(b, Index{1} << 30);
    for (Index n = 0; n < batch; ++n) {
      for (Index h = 0; h < heads; ++h) plane(a, b, cells_a, cells_b, n, h);
    }
  }

 private:
  static bool open(const Mask& mask, const Tensor& cells, Index n, Index h, Index q, Index k) {
    const Index batch = mask.batch() == 1 ? 0 : n, head = mask.heads() == 1 ? 0 : h;
    const Index at = ((batch * mask.heads() + head) * mask.queries() + q) * mask.keys() + k;
    return cells.as<std::uint8_t>()[static_cast<std::size_t>(at)] != 0;
  }
  void plane(const Mask& a, const Mask& b, const Tensor& cells_a, const Tensor& cells_b, Index n,
             Index h) {
    PlaneDiff here{n, h, 0, 0};
    const Index blocks_wide = ceil_div(a.keys(), out.block.k);
    std::vector<bool> blocks(
        static_cast<std::size_t>(ceil_div(a.queries(), out.block.q) * blocks_wide));
    for (Index q = 0; q < a.queries(); ++q) {
      bool row = false;
      for (Index k = 0; k < a.keys(); ++k) {
        const bool in_a = open(a, cells_a, n, h, q, k), in_b = open(b, cells_b, n, h, q, k);
        out.both += in_a && in_b;
        if (in_a == in_b) continue;
        ++(in_a ? here.only_a : here.only_b);
        row = true;
        blocks[static_cast<std::size_t>(q / out.block.q * blocks_wide + k / out.block.k)] = true;
        if (out.first) continue;
        out.first = Cell{n, h, q, k};
        out.first_in_a = in_a;
      }
      out.rows += row;
    }
    out.blocks += std::count(blocks.begin(), blocks.end(), true);
    out.only_a += here.only_a;
    out.only_b += here.only_b;
    if (here.only_a + here.only_b > 0) out.planes.push_back(here);
  }
};

void check_diff(const Mask& a, const Mask& b, BlockSize block) {
  const MaskDiff found = diff(a, b, block);
  const MaskDiff slow = SlowDiff(a, b, block).out;
  CHECK(found.only_a == slow.only_a);
  CHECK(found.only_b == slow.only_b);
  CHECK(found.both == slow.both);
  CHECK(found.rows == slow.rows);
  CHECK(found.blocks == slow.blocks);
  CHECK(found.first == slow.first);
  CHECK(found.first_in_a == slow.first_in_a);
  CHECK(found.equal() == slow.equal());
  REQUIRE(found.planes.size() == slow.planes.size());
  for (std::size_t i = 0; i < found.planes.size(); ++i) {
    CHECK(found.planes[i].batch == slow.planes[i].batch);
    CHECK(found.planes[i].head == slow.planes[i].head);
    CHECK(found.planes[i].only_a == slow.planes[i].only_a);
    CHECK(found.planes[i].only_b == slow.planes[i].only_b);
  }
}

Mask chained(std::mt19937_64& random, Index queries, Index keys) {
  return maskctl::apply(Mask(full_plane(queries, keys)),
                        twin::ChainMaker(random, queries, keys).chain(2));
}

TEST_CASE("diff counts the cells that a comparison of every cell counts", "[diff]") {
  std::mt19937_64 random(5);
  const auto number = [&](Index low, Index high) {
    return std::uniform_int_distribution<Index>(low, high)(random);
  };
  for (int i = 0; i < 150; ++i) {
    const Index queries = number(0, 70), keys = number(0, 70);
    if (queries == 0 || keys == 0) continue;
    const Mask a = chained(random, queries, keys), b = chained(random, queries, keys);
    CAPTURE(i, queries, keys);
    check_diff(a, b, {number(1, 80), number(1, 80)});
    const Index side = number(1, 80);
    check_diff(a, b, {side, side});
    check_diff(a, a, {16, 16});
  }
}

TEST_CASE("diff broadcasts batches and heads, and reads computed planes", "[diff]") {
  const PlanePtr causal = diagonal_band(40, 30, -kUnbounded, 0);
  const PlanePtr window = diagonal_band(40, 30, -3, 2);
  const PlanePtr odd = dilated(40, 30, 3, 1);
  const Mask heads(1, 3, {causal, window, odd}, {0, 1, 2});
  const Mask batches(2, 1, {window, odd}, {0, 1});
  check_diff(heads, batches, {8, 8});
  check_diff(batches, heads, {8, 4});
  check_diff(Mask(causal), heads, {128, 128});
}

TEST_CASE("masks without cells are equal", "[diff]") {
  const Mask none = Mask::make(0, 1, 4, 4, [](Index, Index) { return full_plane(4, 4); });
  CHECK(diff(none, none).equal());
  CHECK(diff(Mask(full_plane(0, 4)), Mask(full_plane(0, 4))).equal());
}

TEST_CASE("masks of a million tokens are compared without dense cells", "[diff]") {
  constexpr Index kTokens = Index{1} << 20;
  const Mask a(diagonal_band(kTokens, kTokens, -4095, 0));
  const Mask b(diagonal_band(kTokens, kTokens, -4096, 0));
  const MaskDiff found = diff(a, b);
  CHECK(found.only_a == 0);
  CHECK(found.only_b == kTokens - 4096);
  CHECK(found.rows == kTokens - 4096);
  REQUIRE(found.first);
  CHECK((found.first->query == 4096 && found.first->key == 0 && !found.first_in_a));
}

TEST_CASE("the error about masks that cannot be compared names both shapes", "[diff]") {
  const Mask a(full_plane(4, 4));
  CHECK_THROWS_WITH(diff(a, Mask(full_plane(4, 5))),
                    "[B 1, H 1, Q 4, K 4] and [B 1, H 1, Q 4, K 5] cannot be compared: expected "
                    "A and B with the same number of queries and of keys");
  const Mask two(2, 1, {full_plane(4, 4)}, {0, 0}), three(3, 1, {full_plane(4, 4)}, {0, 0, 0});
  CHECK_THROWS_AS(diff(two, three), Error);
  CHECK(broadcast_words(a, a).empty());
  CHECK(broadcast_words(a, three) == "B has 3 batches, A has 1, which is compared with each");
  const Mask heads(1, 2, {full_plane(4, 4)}, {0, 0});
  CHECK(broadcast_words(two, heads) ==
        "A has 2 batches, B has 1, which is compared with each; B has 2 heads, A has 1, which is "
        "compared with each");
  CHECK_THROWS_AS(diff(a, a, {0, 1}), Error);
}

}  // namespace
}  // namespace maskctl
