#include <climits>

#include "maskctl/attention/cuda/block_sum.cuh"
#include "maskctl/attention/cuda/hopper/backward_call.cuh"
#include "maskctl/attention/cuda/hopper/key_order.h"
#include "maskctl/attention/cuda/hopper/schedule.h"

namespace maskctl::attention::cuda::hopper {
namespace {

constexpr int kThreads = 1024;

/// The tiles of keys to put in order.
struct KeyLists {
  MaskView mask;
  Dims d;
  BackwardTiles tiles;
  int heads_at_a_time;
  int tile_rows;       // per head
  const int* order;    // for each table its tile rows, the longest first
  const int* lengths;  // for each table and tile row, how many tiles of 64 queries
  KeyPart* parts;      // four lists of `capacity`, see KeyOrder
  Index capacity;

  __device__ Index count() const { return d.batch * d.kv_heads * tile_rows; }
  __device__ Index table(int batch, int kv_head) const {
    return table_number(mask, batch, kv_head * d.group());
  }
  /// The n-th tile: by sections of heads whose queries share the L2 cache, and within a section the
  /// longest tiles first or, where blocks take turns, the last: under causal masks and windows
  /// these meet their queries before others do. Blocks of lower number have earlier turns, so that
  /// a block that waits for its turn waits for blocks that have begun.
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
  /// The tiles of queries of a tile, from the first in the group's first head to the last in its
  /// last head.
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

/// Writes the parts of a tile: equal shares of its span. `part` has `tile`, `of` and the first
/// `sums`.
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

/// Two blocks, for the two orders. `counts`: how many parts there are, and how many are of tiles
/// that have several.
__global__ void __launch_bounds__(kThreads)
    order_keys(const __grid_constant__ KeyLists lists, int* counts) {
  const bool take_turns = blockIdx.x == 0;
  KeyPart* const parts = lists.parts + blockIdx.x * lists.capacity;
  KeyPart* const split = parts + 2 * lists.capacity;
  const int tiles = static_cast<int>(lists.count()), thread = static_cast<int>(threadIdx.x);
  Index own = 0, total = 0;
  for (int n = thread; n < tiles; n += kThreads) own += lists.length(lists.nth(n, take_turns));
  sum_before<kThreads>(own, total);
  const Index longest = part_length(total, tiles);
  Index written = 0, of_split = 0;
  for (int first = 0; first < tiles; first += kThreads) {
    KeyPart part{};
    if (first + thread < tiles) {
      part.tile = lists.nth(first + thread, take_turns);
      part.of = static_cast<int>(parts_of(lists.length(part.tile), longest));
    }
    Index more, more_split;
    const Index at = written + sum_before<kThreads>(part.of, more);
    part.sums =
        static_cast<int>(of_split + sum_before<kThreads>(part.of > 1 ? part.of : 0, more_split));
    write_parts(lists, part, parts + at, split);
    written += more, of_split += more_split;
  }
  if (thread == 0) counts[0] = static_cast<int>(written), counts[1] = static_cast<int>(of_split);
}

}  // namespace

KeyOrder::KeyOrder(const MaskView& by_key, const Dims& d, bool fine, Stream stream)
    : is_fine(fine) {
  if (d.batch * d.kv_heads * d.queries * d.keys == 0) return;
  const int width = width_of(d);
  const BackwardTiles tiles = backward_tiles(width, is_fine);
  const Schedule schedule(by_key, d.keys, tiles.keys / kTile, false, stream);
  capacity_ = d.batch * d.kv_heads * schedule.tile_rows + 2 * kMostCuts;
  memory_ = DeviceBuffer(as_size(4 * capacity_) * sizeof(KeyPart), stream);
  const DeviceBuffer counts(2 * sizeof(int), stream);
  const KeyLists lists{by_key,
                       d,
                       tiles,
                       heads_at_a_time(d, width),
                       schedule.tile_rows,
                       schedule.order(),
                       schedule.order() + by_key.count * schedule.tile_rows,
                       reinterpret_cast<KeyPart*>(memory_.data()),
                       capacity_};
  launch("order_keys", order_keys, 2, kThreads, 0, stream, lists,
         reinterpret_cast<int*>(counts.data()));
  int seen[2];
  copy_to_host(std::as_writable_bytes(std::span(seen)), counts.data(), stream);
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  count = seen[0], split_count = seen[1];
}

}  // namespace maskctl::attention::cuda::hopper
