#include "maskctl/mask/blocks/block_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "maskctl/base/error.h"
#include "maskctl/base/threads.h"
#include "maskctl/base/work_scope.h"
#include "maskctl/mask/blocks/payload_set.h"
#include "maskctl/mask/planes/band_key.h"

namespace maskctl {
namespace {

Index tiles_of(std::span<const TileRun> runs, Fill fill) {
  Index tiles = 0;
  for (const TileRun& run : runs) tiles += run.fill == fill ? run.count : 0;
  return tiles;
}

/// How many tile rows a task has: so many that the task takes much longer than waking a thread.
Index tile_rows_per_task(const Plane& plane) { return slabs_of(plane) ? 512 : 64; }

}  // namespace

std::span<const TileRun> TileMap::row(Index tile_row) const {
  const std::size_t first = as_size(row_offsets[as_size(tile_row)]),
                    last = as_size(row_offsets[as_size(tile_row) + 1]);
  return std::span(runs).subspan(first, last - first);
}

Index TileMap::full() const { return tiles_of(runs, Fill::kFull); }
Index TileMap::partial() const { return tiles_of(runs, Fill::kPartial); }

TileMap tile_map(const Plane& plane, Index q_tile, Index k_tile) {
  if (q_tile < 1 || k_tile < 1) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("block of {} x {}: expected sizes of at least 1", q_tile, k_tile));
  }
  TileMap map{plane.queries(), plane.keys(), q_tile, k_tile, {0}, {}};
  const Index rows = map.tile_rows();
  const Index each = tile_rows_per_task(plane), tasks = ceil_div(rows, each);
  struct Part {
    std::vector<TileRun> runs;
    std::vector<Index> ends;
  };
  std::vector<Part> parts(static_cast<std::size_t>(tasks));
  parallel_for(tasks, [&](Index task) {
    Part& part = parts[static_cast<std::size_t>(task)];
    const Index last = std::min((task + 1) * each, rows);
    const StopPoll poll;
    for (Index t = task * each; t < last; ++t) {
      poll();
      if (plane.keys() > 0) {
        plane.tiles({t * q_tile, std::min((t + 1) * q_tile, plane.queries())}, k_tile, part.runs);
      }
      part.ends.push_back(static_cast<Index>(part.runs.size()));
    }
  });
  map.row_offsets.reserve(static_cast<std::size_t>(rows) + 1);
  for (const Part& part : parts) {
    const auto base = static_cast<Index>(map.runs.size());
    map.runs.insert(map.runs.end(), part.runs.begin(), part.runs.end());
    for (const Index end : part.ends) map.row_offsets.push_back(base + end);
  }
  return map;
}

std::vector<Index> partial_offsets(const TileMap& map) {
  std::vector<Index> offsets{0};
  for (Index t = 0; t < map.tile_rows(); ++t) {
    offsets.push_back(offsets.back() + tiles_of(map.row(t), Fill::kPartial));
  }
  return offsets;
}

namespace {

std::span<PayloadId> payloads_of(TileTable& table, Range tile_rows) {
  const Index first = table.partial_offsets[as_size(tile_rows.begin)],
              last = table.partial_offsets[as_size(tile_rows.end)];
  return std::span(table.payloads).subspan(as_size(first), as_size(last - first));
}

/// Finds the payloads (the cells) of the partial tiles of a plane that is stored as bands. Most
/// tiles are bounded by the same lines, relative to the tile, as an earlier tile (see band_key.h):
/// they get the payload of that earlier tile, and their cells are not read.
class BandPayloads {
 public:
  BandPayloads(const Plane& plane, std::span<const Slab> slabs, PayloadSet& set)
      : plane_(plane), slabs_(slabs), set_(set), reader_(set.rows(), set.keys()) {}

  /// Returns the number of the payload (the cells) of the partial tile at rows q and tile column
  /// `c`. Calls must come in ascending order of q.
  PayloadId of(Range q, std::int32_t c, Index k_tile) {
    const Range k{c * k_tile, (c + 1) * k_tile};
    while (!slabs_.empty() && slabs_.front().q.end <= q.begin) slabs_ = slabs_.subspan(1);
    const Slab* const slab = slabs_.empty() ? nullptr : &slabs_.front();
    if (slab && slab->bands.size() == 1 && slab->q.begin <= q.begin && q.end <= slab->q.end &&
        q.size() == set_.rows()) {
      if (const auto packed = packed_band_key(slab->bands.front(), q, k)) {
        return known(of_one_band_, *packed, q, c);
      }
    }
    band_key(slabs_, q, k, key_);
    return known(of_bands_, key_, q, c);
  }

 private:
  template <class Map, class Key>
  PayloadId known(Map& map, const Key& key, Range q, std::int32_t c) {
    const auto [found, is_new] = map.try_emplace(key);
    if (is_new) {
      const TileRun tile{c, 1, Fill::kPartial};
      const TileRow row = reader_.read(plane_, q, {&tile, 1});
      found->second = set_.add(*row.pools, row.payloads.front());
    }
    return found->second;
  }

  const Plane& plane_;
  std::span<const Slab> slabs_;  // without slabs that end before the rows of the last call
  PayloadSet& set_;
  TileRowReader reader_;
  std::unordered_map<std::uint64_t, PayloadId> of_one_band_;
  BandKeyMap<PayloadId> of_bands_;
  BandKey key_;
};

/// Does the same as read_payloads() below, but for planes that are stored as bands: reads the
/// payloads (the cells) of the partial tiles of some tile rows into `set`.
void read_band_payloads(const Plane& plane, std::span<const Slab> slabs, Range tile_rows,
                        PayloadSet& set, TileTable& table) {
  BandPayloads payloads(plane, slabs, set);
  auto payload = payloads_of(table, tile_rows).begin();
  const StopPoll poll;
  for (Index t = tile_rows.begin; t < tile_rows.end; ++t) {
    poll();
    for (const TileRun& run : table.tiles.row(t)) {
      if (run.fill != Fill::kPartial) continue;
      for (std::int32_t c = run.first; c < run.first + run.count; ++c) {
        *payload++ = payloads.of(table.tiles.queries_of(t), c, table.tiles.k_tile);
      }
    }
  }
}

/// Reads the payloads (the cells) of the partial tiles of some tile rows into `set`, and writes
/// their numbers in that set into the table.
void read_payloads(const Plane& plane, Range tile_rows, PayloadSet& set, TileTable& table) {
  if (const std::vector<Slab>* const slabs = slabs_of(plane)) {
    return read_band_payloads(plane, *slabs, tile_rows, set, table);
  }
  TileRowReader reader(set.rows(), set.keys());
  for (Index t = tile_rows.begin; t < tile_rows.end; ++t) {
    const TileRow row = reader.read(plane, table.tiles.queries_of(t), table.tiles.row(t));
    std::ranges::transform(row.payloads, payloads_of(table, {t, t + 1}).begin(),
                           [&](PayloadId id) { return set.add(*row.pools, id); });
  }
}

/// Reads the payloads (the cells) of all partial tiles. Several tasks collect distinct payloads of
/// their own tile rows; their sets are merged in order of rows, so that the numbers do not depend
/// on thread timing.
TilePayloads read_payloads(const Plane& plane, Index max_bytes, TileTable& table) {
  const TileMap& map = table.tiles;
  const PayloadSet none(std::min(map.q_tile, map.queries), std::min(map.k_tile, map.keys),
                        max_bytes);
  PayloadSet all = none;
  const Index each = tile_rows_per_task(plane), together = 2 * threads() * each;
  for (Index first = 0; first < map.tile_rows(); first += together) {
    const auto rows_of = [&](Index part) {
      const Index begin = first + part * each;
      return Range{begin, std::min(begin + each, map.tile_rows())};
    };
    const Index rows = std::min(together, map.tile_rows() - first);
    std::vector<PayloadSet> parts(as_size(ceil_div(rows, each)), none);
    parallel_for(std::ssize(parts), [&](Index part) {
      read_payloads(plane, rows_of(part), parts[as_size(part)], table);
    });
    if (rows == map.tile_rows() && std::ssize(parts) == 1) return parts.front().take();
    for (Index part = 0; part < std::ssize(parts); ++part) {
      all.add(parts[as_size(part)], payloads_of(table, rows_of(part)));
    }
  }
  return all.take();
}

}  // namespace

TileRow TileTable::row(Index tile_row) const {
  const std::size_t first = as_size(partial_offsets[as_size(tile_row)]),
                    last = as_size(partial_offsets[as_size(tile_row) + 1]);
  return {tiles.row(tile_row), std::span(payloads).subspan(first, last - first), &pools};
}

Index TileTable::bytes() const {
  const auto size = [](const auto& v) { return static_cast<Index>(std::span(v).size_bytes()); };
  return size(tiles.row_offsets) + size(tiles.runs) + size(partial_offsets) + size(payloads) +
         size(pools.intervals) + size(pools.words);
}

TileTable tile_table(const Plane& plane, Index q_tile, Index k_tile, Index max_bytes) {
  TileTable table;
  table.tiles = tile_map(plane, q_tile, k_tile);
  table.partial_offsets = partial_offsets(table.tiles);
  table.payloads.resize(as_size(table.partial_offsets.back()));
  table.pools = read_payloads(plane, max_bytes, table);
  return table;
}

BlockMap::BlockMap(PlanePtr plane, Index q_tile, Index k_tile, Index max_bytes)
    : plane_(std::move(plane)),
      table_(std::make_shared<TileTable>(tile_table(*plane_, q_tile, k_tile, max_bytes))) {}

}  // namespace maskctl
