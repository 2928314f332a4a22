// Computes the stats of each distinct plane once, and sums them over batches and heads.
#include "maskctl/inspect/count/stats.h"

#include "maskctl/inspect/count/block_table.h"
#include "maskctl/inspect/count/row_stats.h"
#include "maskctl/inspect/count/stats_parts.h"

namespace maskctl {
namespace {

struct PlaneFigures {
  RowFigures rows;
  std::vector<BlockStats> blocks;
};

PlaneFigures figures_of(const PlanePtr& plane, std::span<const BlockSize> blocks) {
  const PlanePtr read = blocks.empty() ? plane : readable(plane);
  return {row_figures(*read), block_table(*read, blocks)};
}

PlaneStats summary(const std::vector<LengthGroup>& groups, Index keys) {
  PlaneStats out;
  for (const LengthGroup& group : groups) {
    out.open += group.keys * group.rows;
    out.rows += group.rows;
    if (group.keys == 0) out.empty_rows += group.rows;
    if (group.keys == keys && keys > 0) out.full_rows += group.rows;
  }
  if (!groups.empty()) {
    out.min_keys = groups.front().keys;
    out.max_keys = groups.back().keys;
  }
  out.median_keys = median(groups);
  return out;
}

PlaneStats total_of(const Mask& mask, const std::vector<PlaneFigures>& figures,
                    std::span<const BlockSize> blocks) {
  const std::vector<Index> times = plane_uses(mask);
  std::vector<LengthGroup> groups;
  Index empty_columns = 0;
  bool columns = true;
  std::vector<BlockStats> sums;
  for (const BlockSize& size : blocks) sums.push_back({size, 0, 0, 0, 0});
  for (std::size_t i = 0; i < figures.size(); ++i) {
    groups = merge_groups(groups, figures[i].rows.groups, times[i]);
    columns = columns && figures[i].rows.empty_columns.has_value();
    empty_columns += figures[i].rows.empty_columns.value_or(0) * times[i];
    for (std::size_t s = 0; s < sums.size(); ++s) {
      add_block(sums[s], figures[i].blocks[s], times[i]);
    }
  }
  PlaneStats out = summary(groups, mask.keys());
  if (columns) out.empty_columns = empty_columns;
  out.blocks = std::move(sums);
  return out;
}

}  // namespace

Stats mask_stats(const Mask& mask, std::span<const BlockSize> blocks) {
  check_blocks(blocks);
  std::vector<PlaneFigures> figures(mask.distinct().size());
  for_each_plane(mask, [&](std::size_t i) { figures[i] = figures_of(mask.distinct()[i], blocks); });
  Stats out;
  out.total = total_of(mask, figures, blocks);
  for (PlaneFigures& part : figures) {
    PlaneStats stats = summary(part.rows.groups, mask.keys());
    stats.empty_columns = part.rows.empty_columns;
    stats.blocks = std::move(part.blocks);
    out.planes.push_back(std::move(stats));
  }
  return out;
}

}  // namespace maskctl
