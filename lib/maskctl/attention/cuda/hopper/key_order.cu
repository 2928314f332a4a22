// The order in which blocks of the backward kernel take tiles of keys.
#include "maskctl/attention/cuda/hopper/backward.h"
#include "maskctl/attention/cuda/hopper/backward_call.cuh"
#include "maskctl/attention/cuda/hopper/schedule.h"

namespace maskctl::attention::cuda::hopper {
namespace {

constexpr int kThreads = 1024;

/// How many tile rows are longer than four times the mean, in the table that has the most of them.
/// `order` has the tile rows of each table, the longest first; `lengths` follow.
__device__ int count_long(const int* order, const int* lengths, int tables, int tile_rows) {
  __shared__ int most;
  if (threadIdx.x == 0) most = 0;
  __syncthreads();
  for (int t = static_cast<int>(threadIdx.x) / 32; t < tables; t += kThreads / 32) {
    const int* const of_table = lengths + Index{t} * tile_rows;
    float sum = 0;
    for (int i = static_cast<int>(threadIdx.x) % 32; i < tile_rows; i += 32) {
      sum += static_cast<float>(of_table[i]);
    }
    const float limit = 4 * sum_of_lanes(sum) / static_cast<float>(tile_rows);
    int longer = 0;
    for (int i = static_cast<int>(threadIdx.x) % 32; i < tile_rows; i += 32) {
      longer += static_cast<float>(of_table[i]) > limit ? 1 : 0;
    }
    longer = __reduce_add_sync(~0u, longer);
    if (threadIdx.x % 32 == 0) atomicMax(&most, longer);
  }
  __syncthreads();
  return most;
}

/// The longest tile rows of all heads come first, so that none of them ends last; the others by
/// sections of heads whose queries share the L2 cache, again the longest first.
__global__ void __launch_bounds__(kThreads)
    order_keys(MaskView mask, Dims d, const int* order, int tile_rows, int at_a_time,
               KeyTile* tiles) {
  const int tables = static_cast<int>(mask.count), heads = static_cast<int>(d.batch * d.kv_heads);
  const int first = count_long(order, order + Index{tables} * tile_rows, tables, tile_rows);
  for (int i = static_cast<int>(threadIdx.x); i < heads * tile_rows; i += kThreads) {
    int head = i % heads, rank = i / heads;
    if (rank >= first) {
      const int n = i - first * heads, section = n / (at_a_time * (tile_rows - first));
      const int begin = section * at_a_time, together = min(at_a_time, heads - begin);
      const int inside = n - begin * (tile_rows - first);
      head = begin + inside % together, rank = first + inside / together;
    }
    const int batch = head / static_cast<int>(d.kv_heads);
    const int kv_head = head % static_cast<int>(d.kv_heads);
    const std::uint32_t table =
        mask.table_of[(mask.batch == 1 ? 0 : batch) * mask.heads +
                      (mask.heads == 1 ? 0 : kv_head * d.q_heads / d.kv_heads)];
    tiles[i] = {batch, kv_head, order[Index{table} * tile_rows + rank]};
  }
}

}  // namespace

DeviceBuffer key_order(const MaskView& by_key, const Dims& d, Stream stream) {
  if (d.batch * d.kv_heads * d.queries * d.keys == 0) return {};
  const int width = width_of(d), rows_of_tile = backward_tiles(width).keys / kTile;
  const Schedule schedule(by_key, d.keys, rows_of_tile, false, stream);
  DeviceBuffer tiles(as_size(d.batch * d.kv_heads * schedule.tile_rows) * sizeof(KeyTile), stream);
  launch("order_keys", order_keys, 1, kThreads, 0, stream, by_key, d, schedule.order(),
         schedule.tile_rows, heads_at_a_time(d, width), reinterpret_cast<KeyTile*>(tiles.data()));
  return tiles;
}

}  // namespace maskctl::attention::cuda::hopper
