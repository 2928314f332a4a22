// Checks the cost of a mask against a count of its cells, and against the sizes of the arrays that
// it is converted to.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

#include "inspect/counted_cells.h"
#include "maskctl/inspect/count/cost.h"
#include "maskctl/mask/arrays/bits.h"
#include "maskctl/mask/arrays/nearest.h"
#include "support/catch_compat.h"

namespace maskctl::test {

inline void check_spread(const Spread& spread, std::vector<Index> values) {
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

/// Checks the counts of tiles, and the cells of those tiles that have an open cell.
inline void check_block(const CountedCells& cells, const BlockCost& block, Index copies,
                        Index head_dim) {
  const BlockSize size = block.tiles.size;
  Index tiles = 0, partial = 0, executed = 0;
  for (Index p = 0; p < cells.planes; ++p) {
    const BlockStats seen = cells.blocks(p, size);
    tiles += seen.empty + seen.partial + seen.full;
    partial += seen.partial;
    executed += seen.executed;
  }
  CHECK(block.tiles.partial == partial * copies);
  CHECK(block.tiles.executed == executed * copies);
  CHECK(block.tiles.empty + block.tiles.partial + block.tiles.full == tiles * copies);
  CHECK(block.executed.forward == 4.0 * static_cast<double>(executed * copies * head_dim));
  CHECK(block.executed.backward == 10.0 * static_cast<double>(executed * copies * head_dim));
  const Index bits = std::min(size.q, cells.queries) * std::min(size.k, cells.keys);
  CHECK(block.map_bytes == tiles + partial * ((bits + 7) / 8));
}

inline Index rank_of(Split split, Index q, Index queries, Index ranks) {
  if (split == Split::kStriped) return q % ranks;
  const Index parts = split == Split::kContiguous ? ranks : 2 * ranks;
  Index part = 0;
  while ((part + 1) * queries / parts <= q) ++part;
  return part < ranks ? part : parts - 1 - part;
}

inline void check_balance(const CountedCells& cells, const Balance& balance, Index copies,
                          Index total) {
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

inline std::optional<Index> bytes_of(const Cost& cost, std::string_view form) {
  for (const FormBytes& entry : cost.forms) {
    if (entry.form == form) return entry.bytes;
  }
  FAIL("no form " << form);
  return std::nullopt;
}

inline bool with_causal(const Cost& cost) {
  return std::ranges::any_of(cost.forms, [](const auto& f) { return f.with_causal && f.bytes; });
}

/// True if each token sees exactly itself and the earlier tokens of its document. Tokens with the
/// same first open key form a document.
inline bool is_causal_documents(const Mask& mask) {
  if (mask.queries() != mask.keys() || mask.cells() == 0) return false;
  const CountedCells cells(mask);
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

/// Checks the sizes of array forms against the arrays that the mask is really converted to.
inline void check_forms(const Mask& mask, const Cost& cost) {
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

inline void check_against_cells(const Mask& mask, CostQuery query = {}) {
  query.blocks = {{1, 1}, {4, 8}, {16, 16}, {7, 64}, {1000, 1000}};
  const CountedCells cells(mask);
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

}  // namespace maskctl::test
