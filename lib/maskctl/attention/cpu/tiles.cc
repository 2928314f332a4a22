#include "maskctl/attention/cpu/tiles.h"

#include <algorithm>

namespace maskctl::attention {

void QueryBlock::read(const PlanePtr& plane, const BlockMap* compiled, Range q) {
  const bool fits = compiled && compiled->plane() == plane && compiled->tiles().q_tile == q_tile_ &&
                    compiled->tiles().k_tile == k_tile_;
  const TileRow row = fits ? compiled->table().row(q.begin / q_tile_) : reader_.read(*plane, q);
  tiles_.clear();
  auto payload = row.payloads.begin();
  for (const TileRun& run : row.runs) {
    const bool full = run.fill == Fill::kFull;
    for (Index t = run.first; t < Index{run.first} + run.count; ++t) {
      const Range keys{t * k_tile_, std::min((t + 1) * k_tile_, plane->keys())};
      tiles_.push_back({keys, full, full ? TileCells() : TileCells(*row.pools, *payload++)});
    }
  }
}

}  // namespace maskctl::attention
