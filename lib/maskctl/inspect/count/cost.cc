#include "maskctl/inspect/count/cost.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/inspect/count/block_table.h"
#include "maskctl/inspect/count/cost_documents.h"
#include "maskctl/inspect/count/cost_rows.h"
#include "maskctl/inspect/count/stats_parts.h"

namespace maskctl {
namespace {

constexpr double kRowLoad = 32;  // products that take as long as loading one row of K or V
constexpr Index kMostRanks = 65536;
constexpr Index kMostHeads = Index{1} << 20;

struct PlaneCosts {
  std::vector<BlockStats> blocks;
  RowCost rows;
};

/// The results for each distinct plane, and how often each plane counts.
struct Figures {
  std::vector<PlaneCosts> planes;
  std::vector<Index> uses;    // number of (batch, head) pairs of the mask
  std::vector<Index> counts;  // `uses` times the query heads that share a head of the mask
};

[[noreturn]] void refuse(const std::string& message) {
  throw Error(Errc::kInvalidArgument, message);
}

/// How many query heads share each head of the mask.
Index copies_of(const Mask& mask, const CostQuery& query) {
  if (query.heads == 0 || query.heads == mask.heads()) return 1;
  if (query.heads < 0 || query.heads > kMostHeads) {
    refuse(fmt::format("{} heads: expected 1 to {}", query.heads, kMostHeads));
  }
  if (mask.heads() == 1) return query.heads;
  refuse(fmt::format("{} heads for a mask of {}: only a mask of one head can be shared by others",
                     query.heads, mask.heads()));
}

/// The number of cells. Throws if 16 times this number does not fit an Index, which then bounds
/// every sum of cells, rows and bytes.
Index checked_cells(const Mask& mask, Index copies) {
  const Index extents[] = {mask.batch(), mask.heads(), mask.queries(), mask.keys(), copies};
  const auto cells = checked_product(extents);
  if (cells && checked_mul(*cells, 16)) return *cells;
  throw Error(Errc::kLimit, fmt::format("mask {} of {} heads has too many cells to count",
                                        shape_text(mask), mask.heads() * copies));
}

void check(const CostQuery& query) {
  check_blocks(query.blocks);
  if (query.head_dim < 1 || query.head_dim > kMostHeads) {
    refuse(fmt::format("head dimension {}: expected 1 to {}", query.head_dim, kMostHeads));
  }
  if (query.ranks < 1 || query.ranks > kMostRanks) {
    refuse(fmt::format("{} ranks: expected 1 to {}", query.ranks, kMostRanks));
  }
}

Figures figures_of(const Mask& mask, const CostQuery& query, Index copies) {
  Figures out;
  out.uses = plane_uses(mask);
  for (const Index uses : out.uses) out.counts.push_back(uses * copies);
  out.planes.resize(mask.distinct().size());
  for_each_plane(mask, [&](std::size_t i) {
    const PlanePtr plane = readable(mask.distinct()[i]);
    PlaneCosts& figures = out.planes[i];
    figures.rows = row_cost(*plane, query.ranks);
    figures.blocks = block_table(*plane, query.blocks);
  });
  return out;
}

/// The distribution of the number of keys that rows see. The groups ascend by this number.
Spread spread(const std::vector<LengthGroup>& groups) {
  Spread out;
  Index values = 0;
  double sum = 0;
  for (const LengthGroup& group : groups) {
    values += group.rows;
    sum += static_cast<double>(group.keys) * static_cast<double>(group.rows);
  }
  if (values == 0) return out;
  out.min = groups.front().keys;
  out.max = groups.back().keys;
  out.mean = sum / static_cast<double>(values);
  const auto value_at = [&groups](Index i) {
    auto group = groups.begin();
    for (; i >= group->rows; ++group) i -= group->rows;
    return static_cast<double>(group->keys);
  };
  for (std::size_t i = 0; i < kQuantiles.size(); ++i) {
    const double rank = kQuantiles[i] * static_cast<double>(values - 1);
    const auto below = static_cast<Index>(rank);
    const double low = value_at(below);
    const double high = value_at(std::min(below + 1, values - 1));
    out.quantiles[i] = low + (high - low) * (rank - static_cast<double>(below));
  }
  return out;
}

Index pairs_of(const PlaneCosts& plane) {
  return std::accumulate(plane.rows.striped.begin(), plane.rows.striped.end(), Index{0});
}

void add_spreads(const Figures& figures, Cost& cost) {
  std::vector<LengthGroup> rows, heads;
  for (std::size_t i = 0; i < figures.planes.size(); ++i) {
    const PlaneCosts& plane = figures.planes[i];
    const Index pairs = pairs_of(plane);
    cost.planes.push_back({pairs, spread(plane.rows.lengths)});
    cost.pairs += pairs * figures.counts[i];
    if (figures.counts[i] == 0) continue;
    rows = merge_groups(rows, plane.rows.lengths, figures.counts[i]);
    heads = merge_groups(heads, {{pairs, 1}}, figures.counts[i]);
  }
  cost.keys_per_row = spread(rows);
  cost.pairs_per_head = spread(heads);
}

/// Returns the bytes of lossless block maps for all heads that `tiles` counts: one byte per tile,
/// and one bit per cell of tiles that are neither empty nor full.
Index map_bytes(const BlockStats& tiles, const Mask& mask) {
  const Index tile = std::min(tiles.size.q, mask.queries()) * std::min(tiles.size.k, mask.keys());
  return tiles.empty + tiles.partial + tiles.full + tiles.partial * ceil_div(tile, 8);
}

BlockCost block_cost(const BlockStats& tiles, Index pairs, Index head_dim) {
  BlockCost out;
  out.tiles = tiles;
  const auto executed = static_cast<double>(tiles.executed);
  if (pairs > 0) out.waste = executed / static_cast<double>(pairs);
  out.executed = flops(tiles.executed, head_dim, head_dim);
  out.weighted = executed * (1 + kRowLoad / static_cast<double>(tiles.size.q) +
                             kRowLoad / static_cast<double>(tiles.size.k));
  return out;
}

void add_blocks(const Mask& mask, const Figures& figures, const CostQuery& query, Cost& cost) {
  for (std::size_t s = 0; s < query.blocks.size(); ++s) {
    BlockStats tiles{query.blocks[s], 0, 0, 0, 0};
    for (std::size_t i = 0; i < figures.planes.size(); ++i) {
      add_block(tiles, figures.planes[i].blocks[s], figures.counts[i]);
    }
    cost.blocks.push_back(block_cost(tiles, cost.pairs, query.head_dim));
    if (mask.heads() > 0) {
      cost.blocks.back().map_bytes = map_bytes(tiles, mask) / (cost.heads / mask.heads());
    }
  }
  const auto least = std::ranges::min_element(cost.blocks, {}, &BlockCost::weighted);
  if (cost.pairs > 0 && least != cost.blocks.end()) {
    cost.best = static_cast<std::size_t>(least - cost.blocks.begin());
  }
}

void add_forms(const Mask& mask, const Figures& figures, Cost& cost) {
  const Index rows = mask.batch() * mask.heads() * mask.queries();
  const Index cells = mask.cells();
  Index runs = 0;
  for (std::size_t i = 0; i < figures.planes.size(); ++i) {
    runs += figures.planes[i].rows.runs * figures.uses[i];
  }
  const DocumentForms documents = document_forms(mask);
  constexpr Index kShape = 4 * 8;
  cost.forms = {{"dense bool", cells, false},
                {"bits", ceil_div(cells, 8), false},
                {"bias float16", 2 * cells, false},
                {"bias float32", 4 * cells, false},
                {"runs", 8 * (rows + 1) + 8 * runs + kShape, false},
                {"segments", documents.segments, documents.with_causal},
                {"cu_seqlens", documents.cu_seqlens, documents.with_causal}};
}

/// Returns the number of open cells of each rank. rows.parts has those of 2 * ranks equal parts of
/// the queries, in order: rank r gets parts 2r and 2r + 1 if contiguous, part r and the r-th from
/// the end if zigzag.
std::vector<Index> dealt(const RowCost& rows, Split split) {
  if (split == Split::kStriped) return rows.striped;
  std::vector<Index> out(rows.striped.size());
  for (std::size_t r = 0; r < out.size(); ++r) {
    const bool zigzag = split == Split::kZigzag;
    out[r] =
        rows.parts[zigzag ? r : 2 * r] + rows.parts[zigzag ? rows.parts.size() - 1 - r : 2 * r + 1];
  }
  return out;
}

Balance balance_of(const Figures& figures, Split split, Index ranks, Index pairs) {
  Balance out;
  out.split = split;
  out.pairs.resize(static_cast<std::size_t>(ranks));
  for (std::size_t i = 0; i < figures.planes.size(); ++i) {
    const std::vector<Index> part = dealt(figures.planes[i].rows, split);
    for (std::size_t r = 0; r < part.size(); ++r) out.pairs[r] += part[r] * figures.counts[i];
  }
  if (pairs > 0) {
    out.imbalance = static_cast<double>(std::ranges::max(out.pairs)) * static_cast<double>(ranks) /
                    static_cast<double>(pairs);
  }
  return out;
}

}  // namespace

Flops flops(Index pairs, Index head_dim, Index value_dim) {
  const auto n = static_cast<double>(pairs), d = static_cast<double>(head_dim),
             dv = static_cast<double>(value_dim);
  return {2 * (d + dv) * n, (6 * d + 4 * dv) * n};
}

std::string_view name(Split split) {
  static constexpr std::string_view kNames[] = {"contiguous", "zigzag", "striped"};
  return kNames[static_cast<std::size_t>(split)];
}

std::vector<BlockSize> CostQuery::usual_blocks() {
  return {{16, 16}, {32, 32}, {64, 64}, {128, 128}, {256, 256}, {512, 512}};
}

Cost mask_cost(const Mask& mask, const CostQuery& query) {
  check(query);
  const Index copies = copies_of(mask, query);
  Cost cost;
  cost.cells = checked_cells(mask, copies);
  cost.heads = mask.heads() * copies;
  cost.head_dim = query.head_dim;
  const Figures figures = figures_of(mask, query, copies);
  add_spreads(figures, cost);
  cost.useful = flops(cost.pairs, cost.head_dim, cost.head_dim);
  add_blocks(mask, figures, query, cost);
  add_forms(mask, figures, cost);
  for (const Split split : {Split::kContiguous, Split::kZigzag, Split::kStriped}) {
    cost.balance.push_back(balance_of(figures, split, query.ranks, cost.pairs));
  }
  return cost;
}

}  // namespace maskctl
