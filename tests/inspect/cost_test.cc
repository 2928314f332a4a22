// The cost of masks, against a count of every cell.
#include "maskctl/inspect/count/cost.h"

#include <algorithm>
#include <random>

#include "inspect/cost_twin.h"
#include "maskctl/base/error.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/leaves.h"
#include "maskctl/mask/planes/row_lists/clipped_classes.h"
#include "support/catch_compat.h"
#include "support/tensors.h"

namespace maskctl {
namespace {

using test::bytes_of;
using test::check_against_cells;
using test::check_forms;
using test::irregular_mask;
using test::with_causal;

Mask documents(const std::vector<std::int32_t>& values) {
  const Tensor array = test::i32(values);
  return mask_from_segments(array, array, -1);
}

Mask under_causal(const Mask& mask) {
  return zip(Op::kAnd, mask, Mask(diagonal_band(mask.queries(), mask.keys(), -kUnbounded, 0)));
}

TEST_CASE("the cost of irregular masks equals a count of cells") {
  for (const double density : {0.0, 0.02, 0.5, 0.98, 1.0}) {
    CostQuery query;
    query.ranks = 3;
    check_against_cells(irregular_mask({2, 3, 21, 150}, density, 7), query);
  }
}

TEST_CASE("the cost of bands and computed planes equals a count of cells") {
  for (const Index ranks : {1, 4, 7, 200}) {
    CostQuery query;
    query.ranks = ranks;
    query.head_dim = 64;
    check_against_cells(Mask(diagonal_band(100, 100, -kUnbounded, 0)), query);
    check_against_cells(Mask(diagonal_band(40, 300, -90, 90)), query);
    check_against_cells(Mask(rectangle(50, 200, {3, 9}, {10, 190})), query);
    check_against_cells(Mask(dilated(60, 90, 7, 2)), query);
    check_against_cells(Mask(random_plane(33, 70, prng_key(3), 0, 0.3F)), query);
  }
}

TEST_CASE("the cost of a mask without cells is zero") {
  for (const auto& [queries, keys] : {std::pair<Index, Index>{0, 5}, {5, 0}, {0, 0}}) {
    check_against_cells(Mask(empty_plane(queries, keys)));
  }
  CHECK(mask_cost(Mask()).pairs == 0);
  CHECK(!mask_cost(Mask(empty_plane(9, 9))).best.has_value());
}

TEST_CASE("cost counts every head, but the storage of a shared plane once") {
  const Mask mask(diagonal_band(64, 64, -kUnbounded, 0));
  CostQuery query;
  const Cost one = mask_cost(mask, query);
  query.heads = 32;
  const Cost many = mask_cost(mask, query);
  CHECK(many.pairs == 32 * one.pairs);
  CHECK(many.useful.forward == 32 * one.useful.forward);
  CHECK(many.blocks[0].tiles.partial == 32 * one.blocks[0].tiles.partial);
  CHECK(many.blocks[0].map_bytes == one.blocks[0].map_bytes);
  CHECK(many.blocks[0].waste == one.blocks[0].waste);
  CHECK(many.balance[1].pairs[0] == 32 * one.balance[1].pairs[0]);
  CHECK(many.balance[1].imbalance == one.balance[1].imbalance);
  CHECK(bytes_of(many, "dense bool") == 64 * 64);
}

TEST_CASE("the cost of a causal mask is balanced for zigzag and least balanced for contiguous") {
  CostQuery query;
  query.ranks = 4;
  const Cost cost = mask_cost(Mask(diagonal_band(64, 64, -kUnbounded, 0)), query);
  CHECK(cost.balance[0].pairs == std::vector<Index>{136, 392, 648, 904});
  CHECK(cost.balance[1].pairs == std::vector<Index>{520, 520, 520, 520});
  CHECK(cost.balance[2].pairs == std::vector<Index>{496, 512, 528, 544});
  CHECK(*cost.balance[1].imbalance == 1);
}

TEST_CASE("the best tile size is small for a narrow window and large for a full mask") {
  const auto best = [](Index window) {
    const Cost cost = mask_cost(Mask(diagonal_band(8192, 8192, 1 - window, 0)));
    return cost.blocks[*cost.best].tiles.size.q;
  };
  CHECK(best(16) < best(1024));
  const Cost full = mask_cost(Mask(full_plane(1024, 1024)));
  CHECK(full.blocks[*full.best].tiles.size.q == 512);
  CHECK(full.blocks[0].weighted == 1024.0 * 1024.0 * 5);
}

TEST_CASE("cost gives the size of segments and cumulative lengths for a mask of documents") {
  const Mask packed = documents({0, 0, 0, 1, 1, 2, 2, 2, -1, -1});
  const Mask interleaved = documents({0, 1, 0, 1, 2, 2, 0, -1, 1, 1});
  for (const Mask& mask : {packed, interleaved, under_causal(packed), under_causal(interleaved)}) {
    check_against_cells(mask);
    CHECK(bytes_of(mask_cost(mask), "segments") == 4 * 10);
  }
  CHECK(bytes_of(mask_cost(packed), "cu_seqlens") == 4 * 4);
  CHECK(!bytes_of(mask_cost(interleaved), "cu_seqlens"));
  CHECK(!with_causal(mask_cost(packed)));
  CHECK(with_causal(mask_cost(under_causal(packed))));
  CHECK(bytes_of(mask_cost(under_causal(packed)), "cu_seqlens") == 4 * 4);
  CHECK(!bytes_of(mask_cost(under_causal(interleaved)), "cu_seqlens"));
}

TEST_CASE("cost finds no documents in a mask that differs from documents in one cell") {
  const Mask packed = documents({0, 0, 0, 1, 1, 2, 2, 2, 2, -1});
  for (const Mask& mask : {packed, under_causal(packed)}) {
    for (std::size_t cell = 0; cell < 100; ++cell) {
      Tensor array = dense_from_mask(mask, 1 << 20);
      array.as<std::uint8_t>()[cell] ^= 1;
      const Mask changed = mask_from_dense(array);
      check_forms(changed, mask_cost(changed));
    }
  }
}

TEST_CASE("the cost of documents stored as clipped classes equals a count of cells") {
  std::mt19937 random(9);
  const auto number = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  int alone = 0, causal = 0, neither = 0;
  for (int i = 0; i < 300; ++i) {
    const int tokens = number(1, 24), part = i % 2 == 0 ? tokens : number(1, tokens);
    ClippedClasses classes;
    classes.count = number(1, 4);
    for (int token = 0; token < tokens; ++token) {
      classes.k.push_back(number(-1, classes.count - 1));
      // Tokens see each other only inside a part (a range of tokens), so that tokens of one class
      // form another document in each part.
      const int begin = token / part * part;
      classes.clip.push_back({begin, i % 3 == 0 ? std::min(begin + part, tokens) : token + 1});
    }
    classes.q = classes.k;
    if (i % 5 == 0) classes.q[static_cast<std::size_t>(number(0, tokens - 1))] = 0;
    if (i % 7 == 0) classes.clip[static_cast<std::size_t>(number(0, tokens - 1))] = {0, tokens};
    const Mask mask(plane_of(classes));
    REQUIRE(mask.plane(0, 0)->has_row_index());
    CAPTURE(i);
    check_against_cells(mask);
    const Cost cost = mask_cost(mask);
    ++(with_causal(cost) ? causal : bytes_of(cost, "segments") ? alone : neither);
  }
  CHECK(std::min({alone, causal, neither}) > 20);
}

TEST_CASE("the cost of a million tokens of interleaved documents is found without reading runs") {
  const Index n = Index{1} << 20, turns = 7;
  std::vector<std::int32_t> values;
  for (Index i = 0; i < n; ++i) values.push_back(static_cast<std::int32_t>(i % turns));
  CostQuery query;
  query.blocks = {{128, 128}};
  const Cost cost = mask_cost(under_causal(documents(values)), query);
  Index pairs = 0;
  for (Index i = 0; i < n; ++i) pairs += i / turns + 1;
  CHECK(cost.pairs == pairs);
  CHECK(with_causal(cost));
  CHECK(bytes_of(cost, "segments") == 4 * n);
  CHECK(!bytes_of(cost, "cu_seqlens"));
}

TEST_CASE("cost finds no documents in other masks with the same counts and first keys") {
  const auto rows_of = [](std::vector<Index> lengths) {
    std::vector<Slab> slabs;
    for (std::size_t q = 0; q < lengths.size(); ++q) {
      const auto row = static_cast<Index>(q);
      slabs.push_back({{row, row + 1}, {{0, lengths[q], 0, 0}}});
    }
    return Mask(bands(std::ssize(lengths), std::ssize(lengths), slabs));
  };
  CHECK(with_causal(mask_cost(rows_of({1, 2, 3, 4}))));
  for (const auto& lengths : {std::vector<Index>{1, 2, 4, 3}, {4, 3, 2, 1}, {2, 1, 3, 4}}) {
    const Mask mask = rows_of(lengths);
    const Mask stored = mask_from_dense(dense_from_mask(mask, 1 << 20));
    CHECK(!bytes_of(mask_cost(mask), "segments"));
    CHECK(!bytes_of(mask_cost(stored), "segments"));
    CHECK(!bytes_of(mask_cost(stored), "cu_seqlens"));
  }
}

TEST_CASE("cost finds no documents in windows, or if heads differ") {
  const Cost window = mask_cost(Mask(diagonal_band(100, 100, -7, 0)));
  CHECK(!bytes_of(window, "segments"));
  CHECK(!bytes_of(window, "cu_seqlens"));
  const PlanePtr all = full_plane(8, 8);
  const Mask heads(1, 2, {all, rectangle(8, 8, {0, 4}, {0, 4})}, {0, 1});
  CHECK(!bytes_of(mask_cost(heads), "segments"));
  const Mask batches(2, 1, {all, rectangle(8, 8, {0, 4}, {0, 4})}, {0, 1});
  CHECK(bytes_of(mask_cost(batches), "segments") == 2 * 8 * 4);
}

TEST_CASE("cost refuses masks that it cannot count") {
  const Mask mask(2, 2, {full_plane(4, 4)}, {0, 0, 0, 0});
  const auto refuses = [&](auto&& change) {
    CostQuery query;
    change(query);
    CHECK_THROWS_AS(mask_cost(mask, query), Error);
  };
  refuses([](CostQuery& query) { query.blocks = {{0, 4}}; });
  refuses([](CostQuery& query) { query.heads = 3; });
  refuses([](CostQuery& query) { query.heads = -1; });
  refuses([](CostQuery& query) { query.head_dim = 0; });
  refuses([](CostQuery& query) { query.ranks = 0; });
  refuses([](CostQuery& query) { query.ranks = 65537; });
  const Index most = (Index{1} << 31) - 1;
  CHECK_THROWS_AS(mask_cost(Mask(full_plane(most, most))), Error);
}

TEST_CASE("the cost of a million rows is found without dense cells") {
  const Index n = Index{1} << 20;
  CostQuery query;
  query.heads = 32;
  const Cost cost = mask_cost(Mask(diagonal_band(n, n, -4095, 0)), query);
  CHECK(cost.pairs == 32 * (n * 4096 - 4096 * 4095 / 2));
  CHECK(cost.keys_per_row.quantiles[2] == 4096);
  CHECK(cost.blocks[3].tiles.full == 32 * (31 * (n / 128) - 31 * 32 / 2));
  CHECK(*cost.balance[2].imbalance < 1.001);
}

}  // namespace
}  // namespace maskctl
