#include "maskctl/attention/cuda/block_sum.cuh"
#include "maskctl/attention/cuda/gpus.h"
#include "maskctl/attention/cuda/softmax/hopper/key_lists.cuh"
#include "maskctl/attention/cuda/softmax/hopper/key_order.h"
#include "maskctl/attention/cuda/softmax/hopper/schedule.h"

namespace maskctl::attention::cuda::hopper {
namespace {

constexpr int kThreads = 1024;

/// The orders of all parts of a call.
struct PartOrder {
  KeyLists lists;
  bool is_scattered;
  KeyPart* parts;  // four lists of `capacity`, see KeyOrder
  Index capacity;

  __device__ Index count() const { return lists.d.batch * lists.d.kv_heads * lists.tile_rows; }
  /// The n-th tile of keys. Heads are divided into sections whose queries fit into the L2 cache
  /// together. Within a section, the tiles with the most queries come first, if blocks do not take
  /// turns or if the mask is scattered. Otherwise the tiles with the highest numbers come first:
  /// under causal masks and windows, they are the first to reach their queries. Turns follow this
  /// order, so that a block waits only for blocks that have already started.
  __device__ KeyTile nth(int n, bool take_turns) const {
    const int rows = lists.tile_rows;
    const int heads = static_cast<int>(lists.d.batch * lists.d.kv_heads);
    const int first = n / (lists.heads_at_a_time * rows) * lists.heads_at_a_time;
    const int together = min(lists.heads_at_a_time, heads - first), inside = n - first * rows;
    const int head = first + inside % together, rank = inside / together;
    const int batch = head / static_cast<int>(lists.d.kv_heads);
    const int kv_head = head % static_cast<int>(lists.d.kv_heads);
    return {batch, kv_head,
            take_turns && !is_scattered ? rows - 1 - rank
                                        : lists.order[lists.table(batch, kv_head) * rows + rank]};
  }
};

/// Runs in two blocks: block 0 makes the order for blocks that take turns, block 1 the other order.
__global__ void __launch_bounds__(kThreads) order_keys(const __grid_constant__ PartOrder order) {
  const bool take_turns = blockIdx.x == 0;
  KeyPart* const parts = order.parts + blockIdx.x * order.capacity;
  KeyPart* const split = parts + 2 * order.capacity;
  const int tiles = static_cast<int>(order.count()), thread = static_cast<int>(threadIdx.x);
  Index written = 0, of_split = 0;
  for (int first = 0; first < tiles; first += kThreads) {
    KeyPart part{};
    if (first + thread < tiles) {
      part.tile = order.nth(first + thread, take_turns);
      part.of = order.lists.parts(part.tile);
    }
    Index more, more_split;
    const Index at = written + sum_before<kThreads>(part.of, more);
    part.sums =
        static_cast<int>(of_split + sum_before<kThreads>(part.of > 1 ? part.of : 0, more_split));
    for (part.nth = 0; part.nth < part.of; ++part.nth, ++part.sums) {
      const Range share = order.lists.share(part.tile, part.nth, part.of);
      part.begin = static_cast<int>(share.begin), part.end = static_cast<int>(share.end);
      parts[at + part.nth] = part;
      if (part.of > 1) split[part.sums] = part;
    }
    written += more, of_split += more_split;
  }
}

/// Whether the tiles of queries of most tiles of keys have more gaps than tiles between the first
/// and the last, as under random blocks. Then blocks that walk in ascending order meet at the same
/// tiles at the same time.
bool is_scattered(const std::vector<TileRowSize>& sizes) {
  Index tiles = 0, spans = 0;
  for (const TileRowSize& size : sizes) tiles += size.tiles, spans += size.span;
  return 2 * tiles < spans;
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
  const KeyLists key_lists{mask.view(TileOrder::kKeyMajor),
                           d,
                           tiles,
                           heads_at_a_time(d, width),
                           schedule.order.tile_rows,
                           longest,
                           schedule.order.rows,
                           schedule.lengths_there()};
  const bool scattered = is_scattered(mask.sizes(TileOrder::kKeyMajor));
  launch("order_keys", order_keys, 2, kThreads, 0, stream,
         PartOrder{key_lists, scattered, reinterpret_cast<KeyPart*>(memory_.data()), capacity_});
  if (scattered) walks_ = KeyWalks(key_lists, mask.sizes(TileOrder::kKeyMajor), stream);
}

}  // namespace maskctl::attention::cuda::hopper
