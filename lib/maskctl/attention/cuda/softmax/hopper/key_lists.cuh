// The lists of queries that the tiles of keys of the backward pass have, as kernels read them.
#pragma once

#include <climits>

#include "maskctl/attention/cuda/softmax/hopper/backward_call.cuh"

namespace maskctl::attention::cuda::hopper {

/// The tiles of keys of a call, and how many tiles of queries each has.
struct KeyLists {
  MaskView mask;
  Dims d;
  BackwardTiles tiles;
  int heads_at_a_time;
  int tile_rows;  // number of tile rows per head
  Index part_length;
  const int* order;    // for each table: its tile rows, the longest first
  const int* lengths;  // for each table and tile row: its number of 64-query tiles

  __device__ Index table(int batch, int kv_head) const {
    return table_number(mask, batch, kv_head * d.group());
  }
  __device__ Index length(const KeyTile& tile) const {
    return d.group() * lengths[table(tile.batch, tile.kv_head) * tile_rows + tile.number];
  }
  /// Into how many parts the tile is divided.
  __device__ int parts(const KeyTile& tile) const {
    return static_cast<int>(parts_of(length(tile), part_length));
  }
  /// The tiles of queries of part `nth` of a tile that is divided into `of` parts: an equal share
  /// of span(). The first part also has all tiles before it, the last one all after it.
  __device__ Range share(const KeyTile& tile, int nth, int of) const {
    if (of == 1) return {0, INT_MAX};
    const Range all = span(tile);
    return {nth == 0 ? 0 : all.begin + all.size() * nth / of,
            nth + 1 == of ? INT_MAX : all.begin + all.size() * (nth + 1) / of};
  }

 private:
  /// The range that contains all tiles of queries of a tile of keys. Tiles of queries are numbered
  /// consecutively over the query heads of the key head.
  __device__ Range span(const KeyTile& tile) const {
    const TileTableView& view = mask.tables[table(tile.batch, tile.kv_head)];
    const Index rows = tiles.keys / kTile, columns = tiles.queries / kTile;
    const Index end = min((tile.number + 1) * rows, ceil_div(d.keys, kTile));
    Range span{INT_MAX, 0};
    for (Index r = tile.number * rows; r < end; ++r) {
      if (view.row_begins[r] == view.row_ends[r]) continue;
      const TileRun last = view.runs[view.row_ends[r] - 1];
      span.begin = min(span.begin, Index{view.runs[view.row_begins[r]].first});
      span.end = max(span.end, Index{last.first} + last.count);
    }
    return {span.begin / columns,
            ceil_div(span.end, columns) + (d.group() - 1) * ceil_div(d.queries, tiles.queries)};
  }
};

/// Calls f(i, tile) for each tile of (64 kRows) keys x (64 kColumns) queries of a tile of keys,
/// from the tile of queries `begin` to before `end`, in ascending order; i is the query head in the
/// group.
template <int kRows, int kColumns, class F>
__device__ __forceinline__ void for_each_tile(const MaskView& mask, int group, Index all_keys,
                                              int tiles_of_head, const KeyTile& keys, int begin,
                                              int end, F&& f) {
  for (int i = 0; i < group; ++i) {
    const int before = i * tiles_of_head;
    WideWalk<kRows, kColumns> walk(table_of(mask, keys.batch, keys.kv_head * group + i),
                                   keys.number, all_keys);
    walk.skip_to(begin - before);
    while (!walk.is_at_end()) {
      const WideTile<kRows, kColumns> tile = walk.next();
      if (tile.number >= end - before) return;
      f(i, tile);
    }
  }
}

}  // namespace maskctl::attention::cuda::hopper
