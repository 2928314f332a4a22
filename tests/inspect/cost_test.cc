// Cost against counting every cell.
#include "maskctl/inspect/cost.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "maskctl/base/error.h"
#include "maskctl/mask/bands.h"
#include "maskctl/mask/bits.h"
#include "maskctl/mask/clipped_classes.h"
#include "maskctl/mask/dense.h"
#include "maskctl/mask/leaves.h"
#include "maskctl/mask/nearest.h"
#include "support/catch_compat.h"

namespace maskctl {
namespace {

/// Every cell of every plane, looked at one by one.
struct Cells {
  explicit Cells(const Mask& mask)
      : planes(mask.batch() * mask.heads()),
        queries(mask.queries()),
        keys(mask.keys()),
        array(dense_from_mask(mask, Index{1} << 30)) {}
  bool open(Index plane, Index q, Index k) const {
    return array.as<std::uint8_t>()[static_cast<std::size_t>((plane * queries + q) * keys + k)] !=
           0;
  }
  Index in_row(Index plane, Index q) const {
    Index open_keys = 0;
    for (Index k = 0; k < keys; ++k) open_keys += open(plane, q, k);
    return open_keys;
  }
  Index planes, queries, keys;
  Tensor array;
};

void check_spread(const Spread& spread, std::vector<Index> values) {
  if (values.empty()) {
    CHECK(spread.max == 0);
    return;
  }
  std::sort(values.begin(), values.end());
  double sum = 0;
  for (const Index value : values) sum += static_cast<double>(value);
  CHECK(spread.min == values.front());
  CHECK(spread.max == values.back());
  CHECK(spread.mean == Approx(sum / static_cast<double>(values.size())));
  for (std::size_t i = 0; i < kQuantiles.size(); ++i) {
    const double place = kQuantiles[i] * static_cast<double>(values.size() - 1);
    const auto low = static_cast<double>(values[static_cast<std::size_t>(std::floor(place))]);
    const auto high = static_cast<double>(values[static_cast<std::size_t>(std::ceil(place))]);
    CHECK(spread.quantiles[i] == Approx(low + (high - low) * (place - std::floor(place))));
  }
}

/// Tiles that hold any open cell, and their cells.
void check_block(const Cells& cells, const BlockCost& block, Index copies, Index head_dim) {
  const BlockSize size = block.tiles.size;
  Index tiles = 0, partial = 0, executed = 0;
  for (Index p = 0; p < cells.planes; ++p) {
    for (Index q = 0; q < cells.queries; q += size.q) {
      for (Index k = 0; k < cells.keys; k += size.k) {
        Index area = 0, open = 0;
        for (Index i = q; i < std::min(q + size.q, cells.queries); ++i) {
          for (Index j = k; j < std::min(k + size.k, cells.keys); ++j) {
            ++area;
            open += cells.open(p, i, j);
          }
        }
        ++tiles;
        partial += open > 0 && open < area;
        executed += open > 0 ? area : 0;
      }
    }
  }
  CHECK(block.tiles.partial == partial * copies);
  CHECK(block.tiles.executed == executed * copies);
  CHECK(block.tiles.empty + block.tiles.partial + block.tiles.full == tiles * copies);
  CHECK(block.executed.forward == 4.0 * static_cast<double>(executed * copies * head_dim));
  CHECK(block.executed.backward == 10.0 * static_cast<double>(executed * copies * head_dim));
  const Index bits = std::min(size.q, cells.queries) * std::min(size.k, cells.keys);
  CHECK(block.map_bytes == tiles + partial * ((bits + 7) / 8));
}

Index rank_of(Split split, Index q, Index queries, Index ranks) {
  if (split == Split::kStriped) return q % ranks;
  const Index parts = split == Split::kContiguous ? ranks : 2 * ranks;
  Index part = 0;
  while ((part + 1) * queries / parts <= q) ++part;
  return part < ranks ? part : parts - 1 - part;
}

void check_balance(const Cells& cells, const Balance& balance, Index copies, Index total) {
  std::vector<Index> pairs(balance.pairs.size());
  const auto ranks = static_cast<Index>(pairs.size());
  for (Index p = 0; p < cells.planes; ++p) {
    for (Index q = 0; q < cells.queries; ++q) {
      const Index rank = rank_of(balance.split, q, cells.queries, ranks);
      pairs[static_cast<std::size_t>(rank)] += cells.in_row(p, q) * copies;
    }
  }
  CHECK(balance.pairs == pairs);
  REQUIRE(balance.imbalance.has_value() == (total > 0));
  if (total == 0) return;
  const double mean = static_cast<double>(total) / static_cast<double>(ranks);
  const Index most = *std::max_element(pairs.begin(), pairs.end());
  CHECK(*balance.imbalance == Approx(static_cast<double>(most) / mean));
}

std::optional<Index> bytes_of(const Cost& cost, std::string_view form) {
  for (const FormBytes& entry : cost.forms) {
    if (entry.form == form) return entry.bytes;
  }
  FAIL("no form " << form);
  return std::nullopt;
}

bool with_causal(const Cost& cost) {
  return std::ranges::any_of(cost.forms, [](const auto& f) { return f.with_causal && f.bytes; });
}

/// Whether each token sees the earlier ones of its document: those that share the first key.
bool is_causal_documents(const Mask& mask) {
  if (mask.queries() != mask.keys() || mask.cells() == 0) return false;
  const Cells cells(mask);
  const Index n = mask.keys();
  for (Index p = 0; p < cells.planes; ++p) {
    std::vector<Index> ids(static_cast<std::size_t>(n), -1);
    for (Index q = 0; q < n; ++q) {
      for (Index k = n - 1; k >= 0; --k) {
        if (cells.open(p, q, k)) ids[static_cast<std::size_t>(q)] = k;
      }
    }
    for (Index q = 0; q < n; ++q) {
      for (Index k = 0; k < n; ++k) {
        const Index id = ids[static_cast<std::size_t>(q)];
        const bool open = id >= 0 && id == ids[static_cast<std::size_t>(k)] && k <= q;
        if (open != cells.open(p, q, k)) return false;
      }
    }
  }
  return true;
}

/// The sizes of the arrays that the mask really becomes.
void check_forms(const Mask& mask, const Cost& cost) {
  constexpr Index kAll = Index{1} << 30;
  const Index dense = std::ssize(dense_from_mask(mask, kAll).bytes());
  const RunArrays runs = runs_from_mask(mask, kAll);
  CHECK(bytes_of(cost, "dense bool") == dense);
  CHECK(bytes_of(cost, "bits") == std::ssize(bits_from_mask(mask, kAll).bytes()));
  CHECK(bytes_of(cost, "bias float16") == 2 * dense);
  CHECK(bytes_of(cost, "bias float32") == 4 * dense);
  CHECK(bytes_of(cost, "runs") == std::ssize(runs.indptr.bytes()) + std::ssize(runs.begin.bytes()) +
                                      std::ssize(runs.end.bytes()) +
                                      std::ssize(runs.shape.bytes()));
  if (mask.cells() == 0) return;
  const bool alone = nearest_segments(mask).changed == 0;
  CHECK(with_causal(cost) == (!alone && mask.heads() == 1 && is_causal_documents(mask)));
  if (with_causal(cost)) return;
  const auto check_nearest = [&](std::string_view form, const Nearest& nearest) {
    REQUIRE(bytes_of(cost, form).has_value() == (nearest.changed == 0));
    if (nearest.changed != 0) return;
    const bool one = nearest.q.shape() == nearest.kv.shape() &&
                     std::ranges::equal(nearest.q.bytes(), nearest.kv.bytes());
    CHECK(bytes_of(cost, form) ==
          std::ssize(nearest.q.bytes()) + (one ? 0 : std::ssize(nearest.kv.bytes())));
  };
  check_nearest("segments", nearest_segments(mask));
  check_nearest("cu_seqlens", nearest_cu_seqlens(mask));
}

void check_against_cells(const Mask& mask, CostQuery query = {}) {
  query.blocks = {{1, 1}, {4, 8}, {16, 16}, {7, 64}, {1000, 1000}};
  const Cells cells(mask);
  const Cost cost = mask_cost(mask, query);
  const Index copies = query.heads == 0 ? 1 : query.heads / mask.heads();
  std::vector<Index> rows, heads;
  for (Index p = 0; p < cells.planes; ++p) {
    Index open = 0;
    for (Index q = 0; q < cells.queries; ++q) open += rows.emplace_back(cells.in_row(p, q));
    heads.push_back(open);
  }
  Index pairs = 0;
  for (const Index open : heads) pairs += open * copies;
  CHECK(cost.heads == mask.heads() * copies);
  CHECK(cost.pairs == pairs);
  CHECK(cost.cells == mask.cells() * copies);
  CHECK(cost.useful.forward == 4.0 * static_cast<double>(pairs * query.head_dim));
  CHECK(cost.useful.backward == 10.0 * static_cast<double>(pairs * query.head_dim));
  check_spread(cost.keys_per_row, rows);
  check_spread(cost.pairs_per_head, heads);
  for (const BlockCost& block : cost.blocks) {
    check_block(cells, block, copies, query.head_dim);
    CHECK(block.waste.has_value() == (pairs > 0));
  }
  for (const Balance& balance : cost.balance) check_balance(cells, balance, copies, pairs);
  check_forms(mask, cost);
}

Mask random_mask(std::vector<Index> shape, double density, unsigned seed) {
  Tensor array(DType::kBool, std::move(shape));
  std::mt19937 random(seed);
  std::bernoulli_distribution open(density);
  for (std::uint8_t& cell : array.as<std::uint8_t>()) cell = open(random);
  return mask_from_dense(array);
}

Tensor ids(std::vector<std::int32_t> values) {
  Tensor out(DType::kInt32, {std::ssize(values)});
  std::ranges::copy(values, out.as<std::int32_t>().begin());
  return out;
}

Mask documents(const std::vector<std::int32_t>& values) {
  const Tensor array = ids(values);
  return mask_from_segments(array, array, -1);
}

Mask under_causal(const Mask& mask) {
  return zip(Op::kAnd, mask, Mask(diagonal_band(mask.queries(), mask.keys(), -kUnbounded, 0)));
}

TEST_CASE("cost of irregular masks agrees with counting cells") {
  for (const double density : {0.0, 0.02, 0.5, 0.98, 1.0}) {
    CostQuery query;
    query.ranks = 3;
    check_against_cells(random_mask({2, 3, 21, 150}, density, 7), query);
  }
}

TEST_CASE("cost of bands and computed planes agrees with counting cells") {
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

TEST_CASE("cost of masks without cells is zero") {
  for (const auto& [queries, keys] : {std::pair<Index, Index>{0, 5}, {5, 0}, {0, 0}}) {
    check_against_cells(Mask(empty_plane(queries, keys)));
  }
  CHECK(mask_cost(Mask()).pairs == 0);
  CHECK(!mask_cost(Mask(empty_plane(9, 9))).best.has_value());
}

TEST_CASE("cost counts every head that shares a mask but stores it once") {
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

TEST_CASE("cost of causal is even for zigzag and worst for contiguous") {
  CostQuery query;
  query.ranks = 4;
  const Cost cost = mask_cost(Mask(diagonal_band(64, 64, -kUnbounded, 0)), query);
  CHECK(cost.balance[0].pairs == std::vector<Index>{136, 392, 648, 904});
  CHECK(cost.balance[1].pairs == std::vector<Index>{520, 520, 520, 520});
  CHECK(cost.balance[2].pairs == std::vector<Index>{496, 512, 528, 544});
  CHECK(*cost.balance[1].imbalance == 1);
}

TEST_CASE("cost weighs waste of large tiles against loads of small ones") {
  const auto best = [](Index window) {
    const Cost cost = mask_cost(Mask(diagonal_band(8192, 8192, 1 - window, 0)));
    return cost.blocks[*cost.best].tiles.size.q;
  };
  CHECK(best(16) < best(1024));
  const Cost full = mask_cost(Mask(full_plane(1024, 1024)));
  CHECK(full.blocks[*full.best].tiles.size.q == 512);
  CHECK(full.blocks[0].weighted == 1024.0 * 1024.0 * 5);
}

TEST_CASE("cost finds documents that segments and cumulative lengths can hold") {
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

TEST_CASE("cost never claims documents for a mask that differs in one cell") {
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

TEST_CASE("cost of documents held as clipped classes agrees with counting cells") {
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
      // One class may hold a document of each part.
      const int begin = token / part * part;
      classes.clip.push_back({begin, i % 3 == 0 ? std::min(begin + part, tokens) : token + 1});
    }
    classes.q = classes.k;
    if (i % 5 == 0) classes.q[static_cast<std::size_t>(number(0, tokens - 1))] = 0;
    if (i % 7 == 0) classes.clip[static_cast<std::size_t>(number(0, tokens - 1))] = {0, tokens};
    const Mask mask(plane_of(classes));
    REQUIRE(mask.plane(0, 0)->knows_sizes());
    CAPTURE(i);
    check_against_cells(mask);
    const Cost cost = mask_cost(mask);
    ++(with_causal(cost) ? causal : bytes_of(cost, "segments") ? alone : neither);
  }
  CHECK(std::min({alone, causal, neither}) > 20);
}

TEST_CASE("cost of a million tokens of documents in turn reads no runs") {
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

TEST_CASE("cost claims no documents for other masks with as many cells and the same first keys") {
  const auto rows_of = [](std::vector<Index> lengths) {
    std::vector<Slab> slabs;
    for (std::size_t q = 0; q < lengths.size(); ++q) {
      const auto row = static_cast<Index>(q);
      slabs.push_back({{row, row + 1}, {{0, lengths[q], 0, 0}}});
    }
    return Mask(bands(std::ssize(lengths), std::ssize(lengths), std::move(slabs)));
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

TEST_CASE("cost finds no documents in windows or where heads differ") {
  const Cost window = mask_cost(Mask(diagonal_band(100, 100, -7, 0)));
  CHECK(!bytes_of(window, "segments"));
  CHECK(!bytes_of(window, "cu_seqlens"));
  const PlanePtr all = full_plane(8, 8);
  const Mask heads(1, 2, {all, rectangle(8, 8, {0, 4}, {0, 4})}, {0, 1});
  CHECK(!bytes_of(mask_cost(heads), "segments"));
  const Mask batches(2, 1, {all, rectangle(8, 8, {0, 4}, {0, 4})}, {0, 1});
  CHECK(bytes_of(mask_cost(batches), "segments") == 2 * 8 * 4);
}

TEST_CASE("cost refuses what it cannot count") {
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

TEST_CASE("cost of a million rows needs no cells") {
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
