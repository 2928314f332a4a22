#include <climits>

#include "maskctl/attention/cuda/block_sum.cuh"
#include "maskctl/attention/cuda/gpus.h"
#include "maskctl/attention/cuda/softmax/hopper/backward_call.cuh"
#include "maskctl/attention/cuda/softmax/hopper/key_order.h"
#include "maskctl/attention/cuda/softmax/hopper/schedule.h"

namespace maskctl::attention::cuda::hopper {
namespace {

constexpr int kThreads = 1024;

/// The tiles of keys that are put in order, and where the order is written.
struct KeyLists {
  MaskView mask;
  Dims d;
  BackwardTiles tiles;
  int heads_at_a_time;
  int tile_rows;  // number of tile rows per head
  Index part_length;
  const int* order;    // for each table: its tile rows, the longest first
  const int* lengths;  // for each table and tile row: its number of 64-query tiles
  KeyPart* parts;      // four lists of `capacity`, see KeyOrder
  Index capacity;

  __device__ Index count() const { return d.batch * d.kv_heads * tile_rows; }
  __device__ Index table(int batch, int kv_head) const {
    return table_number(mask, batch, kv_head * d.group());
  }
  /// The n-th tile of keys. Heads are divided into sections whose queries fit into the L2 cache
  /// together. Within a section, the tiles with the most queries come first, if blocks do not take
  /// turns. If blocks take turns, the tiles with the highest numbers come first: under causal masks
  /// and windows, they are the first to reach their queries. Turns follow this order, so that a
  /// block waits only for blocks that have already started.
  __device__ KeyTile nth(int n, bool take_turns) const {
    const int heads = static_cast<int>(d.batch * d.kv_heads);
    const int first = n / (heads_at_a_time * tile_rows) * heads_at_a_time;
    const int together = min(heads_at_a_time, heads - first), inside = n - first * tile_rows;
    const int head = first + inside % together, rank = inside / together;
    const int batch = head / static_cast<int>(d.kv_heads);
    const int kv_head = head % static_cast<int>(d.kv_heads);
    return {batch, kv_head,
            take_turns ? tile_rows - 1 - rank : order[table(batch, kv_head) * tile_rows + rank]};
  }
  __device__ Index length(const KeyTile& tile) const {
    return d.group() * lengths[table(tile.batch, tile.kv_head) * tile_rows + tile.number];
  }
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

/// Writes all parts of a tile of keys, each with an equal share of lists.span(). The caller sets
/// `part.tile`, `part.of`, and `part.sums` for the first part.
__device__ void write_parts(const KeyLists& lists, KeyPart part, KeyPart* to, KeyPart* split) {
  const Range span = part.of > 1 ? lists.span(part.tile) : Range{};
  for (part.nth = 0; part.nth < part.of; ++part.nth, ++part.sums) {
    const auto cut = [&](int n) {
      return static_cast<int>(span.begin + span.size() * n / part.of);
    };
    part.begin = part.nth == 0 ? 0 : cut(part.nth);
    part.end = part.nth + 1 == part.of ? INT_MAX : cut(part.nth + 1);
    to[part.nth] = part;
    if (part.of > 1) split[part.sums] = part;
  }
}

/// Runs in two blocks: block 0 makes the order for blocks that take turns, block 1 the other order.
__global__ void __launch_bounds__(kThreads) order_keys(const __grid_constant__ KeyLists lists) {
  const bool take_turns = blockIdx.x == 0;
  KeyPart* const parts = lists.parts + blockIdx.x * lists.capacity;
  KeyPart* const split = parts + 2 * lists.capacity;
  const int tiles = static_cast<int>(lists.count()), thread = static_cast<int>(threadIdx.x);
  Index written = 0, of_split = 0;
  for (int first = 0; first < tiles; first += kThreads) {
    KeyPart part{};
    if (first + thread < tiles) {
      part.tile = lists.nth(first + thread, take_turns);
      part.of = static_cast<int>(parts_of(lists.length(part.tile), lists.part_length));
    }
    Index more, more_split;
    const Index at = written + sum_before<kThreads>(part.of, more);
    part.sums =
        static_cast<int>(of_split + sum_before<kThreads>(part.of > 1 ? part.of : 0, more_split));
    write_parts(lists, part, parts + at, split);
    written += more, of_split += more_split;
  }
}

/// Returns how many key heads each tile table of a mask serves.
std::vector<Index> heads_of_tables(const DeviceTiles& mask, const Dims& d) {
  std::vector<Index> heads(as_size(mask.view(TileOrder::kKeyMajor).count));
  for (Index b = 0; b < d.batch; ++b) {
    for (Index u = 0; u < d.kv_heads; ++u) ++heads[mask.table_number(b, u * d.group())];
  }
  return heads;
}

}  // namespace

KeyOrder::KeyOrder(const DeviceTiles& mask, const Dims& d, bool fine, Stream stream)
    : is_fine(fine) {
  if (d.batch * d.kv_heads * d.queries * d.keys == 0) return;
  const int width = width_of(d);
  const BackwardTiles tiles = backward_tiles(width, is_fine);
  const Schedule schedule(mask, TileOrder::kKeyMajor, tiles.keys / kTile, false, stream);
  const std::vector<Index> heads = heads_of_tables(mask, d);
  const auto each_list = [&](auto&& f) {
    for (std::size_t n = 0; n < schedule.lengths.size(); ++n) {
      f(d.group() * schedule.lengths[n], heads[n / as_size(schedule.order.tile_rows)]);
    }
  };
  const Index lists = d.batch * d.kv_heads * schedule.order.tile_rows;
  const Index multiprocessors = properties_in_use().multiprocessors;
  Index total = 0;
  each_list([&](Index length, Index times) { total += length * times; });
  const Index longest = part_length(total, lists, multiprocessors);
  each_list([&](Index length, Index times) {
    const Index parts = parts_of(length, longest) * times;
    count += static_cast<int>(parts);
    if (parts > times) split_count += static_cast<int>(parts);
  });
  capacity_ = lists + 2 * most_cuts(multiprocessors);
  memory_ = DeviceBuffer(as_size(4 * capacity_) * sizeof(KeyPart), stream);
  launch("order_keys", order_keys, 2, kThreads, 0, stream,
         KeyLists{mask.view(TileOrder::kKeyMajor), d, tiles, heads_at_a_time(d, width),
                  schedule.order.tile_rows, longest, schedule.order.rows, schedule.lengths_there(),
                  reinterpret_cast<KeyPart*>(memory_.data()), capacity_});
}

}  // namespace maskctl::attention::cuda::hopper
