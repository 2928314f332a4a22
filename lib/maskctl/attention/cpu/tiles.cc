#include "maskctl/attention/cpu/tiles.h"

#include <algorithm>

#include "maskctl/attention/cpu/kernel.h"

namespace maskctl::attention {

void KeyTile::close_row(Index row, Range among, float value, float* x) const {
  const Range inside = intersect(among, keys);
  if (full || inside.empty()) return;
  if (cells.is_words()) {
    return fill_closed(cells.words(row), inside.begin - keys.begin, inside.size(), value,
                       x + (inside.begin - among.begin));
  }
  each_closed(row, inside, [&](Range closed) {
    std::fill(x + (closed.begin - among.begin), x + (closed.end - among.begin), value);
  });
}

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
