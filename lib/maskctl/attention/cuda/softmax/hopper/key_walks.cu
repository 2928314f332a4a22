#include "maskctl/attention/cuda/block_sum.cuh"
#include "maskctl/attention/cuda/gpus.h"
#include "maskctl/attention/cuda/softmax/hopper/key_lists.cuh"
#include "maskctl/attention/cuda/softmax/hopper/key_walks.h"

namespace maskctl::attention::cuda::hopper {
namespace {

/// The memory of the walks.
struct WalkArrays {
  KeyLists lists;
  KeyWalksView view;
  KeyStep* ascending;  // [sets, most_steps]: the steps of each part in ascending order
  KeyStep* steps;      // KeyWalksView::steps
  int *begins, *parts;
  int* counts;   // [sets]: number of parts
  int* leaves;   // [sets, pieces]: when the last block so far leaves a tile of queries
  int* visits;   // [sets, pieces]: how many blocks have been there
  Index pieces;  // tiles of queries of a group of heads
  int slots;     // how many blocks of a set run at the same time

  __device__ int tiles_of_head() const {
    return static_cast<int>(ceil_div(lists.d.queries, lists.tiles.queries));
  }
  __device__ Index piece(const KeyStep& step) const {
    return Index{step.head} * tiles_of_head() + step.number;
  }
};

constexpr int kLayThreads = 1024;

/// A block lays out the parts of one set in the order in which blocks start, and their steps in
/// ascending order.
template <int kRows, int kColumns>
__global__ void __launch_bounds__(kLayThreads)
    lay_steps(const __grid_constant__ WalkArrays arrays) {
  const KeyLists& lists = arrays.lists;
  const Index set = blockIdx.x;
  const int batch = static_cast<int>(set) / arrays.view.heads;
  const int kv_head = static_cast<int>(set) % arrays.view.heads;
  const int* const order = lists.order + lists.table(batch, kv_head) * lists.tile_rows;
  int* const begins = arrays.begins + set * (arrays.view.most_parts + 1);
  KeyStep* const steps = arrays.ascending + set * arrays.view.most_steps;
  Index parts = 0, written = 0;
  for (int first = 0; first < lists.tile_rows; first += kLayThreads) {
    const int rank = first + static_cast<int>(threadIdx.x);
    const KeyTile tile{batch, kv_head, rank < lists.tile_rows ? order[rank] : 0};
    const int of = rank < lists.tile_rows ? lists.parts(tile) : 0;
    const auto walk = [&](const Range& share, auto&& f) {
      for_each_tile<kRows, kColumns>(lists.mask, static_cast<int>(lists.d.group()), lists.d.keys,
                                     arrays.tiles_of_head(), tile, static_cast<int>(share.begin),
                                     static_cast<int>(share.end), f);
    };
    int count = 0;
    if (of > 0) walk({0, INT_MAX}, [&](int, const auto&) { ++count; });
    Index more_parts, more_steps;
    const Index part = parts + sum_before<kLayThreads>(of, more_parts);
    Index at = written + sum_before<kLayThreads>(count, more_steps);
    if (of > 0) arrays.parts[set * lists.tile_rows + tile.number] = static_cast<int>(part);
    for (int nth = 0; nth < of; ++nth) {
      begins[part + nth] = static_cast<int>(at);
      walk(lists.share(tile, nth, of), [&](int head, const WideTile<kRows, kColumns>& to) {
        KeyStep step{head, to.number, 0, {}};
        for (int i = 0; i < kRows * kColumns; ++i) {
          step.cells[i] = to.cells[i / kColumns][i % kColumns];
        }
        steps[at++] = step;
      });
    }
    parts += more_parts, written += more_steps;
  }
  if (threadIdx.x == 0) {
    begins[parts] = static_cast<int>(written);
    arrays.counts[set] = static_cast<int>(parts);
  }
}

constexpr int kOrderThreads = 256, kMostSlots = 512;
/// Predicted times, in steps: of a step, of a block's beginning and its end, and from when a block
/// adds to a piece until the next one can. With 2 for the last, blocks of 64 were 5 to 10 % slower,
/// with 4 those of 128 too.
constexpr int kStepTime = 1, kEndsTime = 2, kTurnTime = 1;

/// The largest x of this lane and those before it.
__device__ int largest_before(int x) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for (int distance = 1; distance < 32; distance *= 2) {
    const int other = __shfl_up_sync(~0u, x, distance);
    if (lane >= distance) x = max(x, other);
  }
  return x;
}

/// Returns, to all lanes of a warp, which of `slots` is free first.
__device__ int first_free(const int* free_at, int slots) {
  int best = INT_MAX, where = 0;
  for (int i = static_cast<int>(threadIdx.x) % 32; i < slots; i += 32) {
    if (free_at[i] < best) best = free_at[i], where = i;
  }
  for (int distance = 16; distance > 0; distance /= 2) {
    const int time = __shfl_xor_sync(~0u, best, distance);
    const int other = __shfl_xor_sync(~0u, where, distance);
    if (time < best || (time == best && other < where)) best = time, where = other;
  }
  return where;
}

/// A block orders the steps of one set, part after part: first what other blocks leave first.
__global__ void __launch_bounds__(kOrderThreads)
    order_steps(const __grid_constant__ WalkArrays arrays) {
  __shared__ int free_at[kMostSlots];
  const Index set = blockIdx.x;
  const int thread = static_cast<int>(threadIdx.x);
  int* const leaves = arrays.leaves + set * arrays.pieces;
  int* const visits = arrays.visits + set * arrays.pieces;
  const int* const begins = arrays.begins + set * (arrays.view.most_parts + 1);
  for (int i = thread; i < arrays.slots; i += kOrderThreads) free_at[i] = 0;
  for (Index i = thread; i < arrays.pieces; i += kOrderThreads) leaves[i] = visits[i] = 0;
  __syncthreads();
  for (int part = 0; part < arrays.counts[set]; ++part) {
    const int count = begins[part + 1] - begins[part];
    KeyStep* const from = arrays.ascending + set * arrays.view.most_steps + begins[part];
    KeyStep* const to = arrays.steps + set * arrays.view.most_steps + begins[part];
    for (int i = thread; i < count; i += kOrderThreads) {
      from[i].after = leaves[arrays.piece(from[i])];
    }
    __syncthreads();
    for (int i = thread; i < count; i += kOrderThreads) {
      const int time = from[i].after;
      int before = 0;
      for (int j = 0; j < count; ++j) {
        before += from[j].after < time || (from[j].after == time && j < i) ? 1 : 0;
      }
      to[before] = from[i];
    }
    __syncthreads();
    if (thread < 32) {
      const int slot = first_free(free_at, arrays.slots);
      int now = free_at[slot] + kEndsTime;
      for (int first = 0; first < count; first += 32) {
        const int i = first + thread;
        // A step ends kStepTime after the one before it, or after the tile is left.
        const int since =
            largest_before(i < count ? max(now, to[i].after) - kStepTime * thread : INT_MIN / 2);
        const int end = since + kStepTime * (thread + 1);
        if (i < count) {
          const Index piece = arrays.piece(to[i]);
          to[i].after = visits[piece]++;
          leaves[piece] = end + kTurnTime;
        }
        now = __shfl_sync(~0u, end, min(31, count - first - 1));
      }
      if (thread == 0) free_at[slot] = now + kEndsTime;
    }
    __syncthreads();
  }
}

void lay(const WalkArrays& arrays, unsigned sets, Stream stream) {
  const auto with = [&](auto kernel) {
    launch("lay_steps", kernel, sets, kLayThreads, 0, stream, arrays);
  };
  const BackwardTiles& tiles = arrays.lists.tiles;
  if (tiles.keys == kTile) return with(lay_steps<1, 1>);
  with(tiles.queries == kTile ? lay_steps<2, 1> : lay_steps<2, 2>);
}

}  // namespace

KeyWalks::KeyWalks(const KeyLists& lists, const std::vector<TileRowSize>& sizes, Stream stream) {
  const Dims& d = lists.d;
  view.tile_rows = lists.tile_rows;
  view.batch = lists.mask.batch == 1 ? 1 : static_cast<int>(d.batch);
  view.heads = lists.mask.heads == 1 ? 1 : static_cast<int>(d.kv_heads);
  const Index sets = Index{view.batch} * view.heads;
  const Index rows = std::ssize(sizes) / lists.mask.count;
  Index most_tiles = 0;  // of a table
  for (Index first = 0; first < std::ssize(sizes); first += rows) {
    Index tiles = 0;
    for (Index r = 0; r < rows; ++r) tiles += sizes[as_size(first + r)].tiles;
    most_tiles = std::max(most_tiles, tiles);
  }
  const Index multiprocessors = properties_in_use().multiprocessors;
  view.most_steps = d.group() * most_tiles;
  view.most_parts = lists.tile_rows + most_cuts(multiprocessors);
  WalkArrays arrays{};
  arrays.lists = lists;
  arrays.pieces = d.group() * ceil_div(d.queries, lists.tiles.queries);
  arrays.slots = static_cast<int>(std::clamp<Index>(
      multiprocessors * lists.tiles.blocks / lists.heads_at_a_time, 1, kMostSlots));
  const Index step_ints = sizeof(KeyStep) / sizeof(int);
  memory_ = DeviceBuffer(
      as_size(sets * (view.most_steps * step_ints + view.most_parts + 1 + lists.tile_rows)) *
          sizeof(int),
      stream);
  const DeviceBuffer scratch(
      as_size(sets * (view.most_steps * step_ints + 1 + 2 * arrays.pieces)) * sizeof(int), stream);
  arrays.steps = reinterpret_cast<KeyStep*>(memory_.data());
  arrays.begins = reinterpret_cast<int*>(arrays.steps + sets * view.most_steps);
  arrays.parts = arrays.begins + sets * (view.most_parts + 1);
  arrays.ascending = reinterpret_cast<KeyStep*>(scratch.data());
  arrays.counts = reinterpret_cast<int*>(arrays.ascending + sets * view.most_steps);
  arrays.leaves = arrays.counts + sets;
  arrays.visits = arrays.leaves + sets * arrays.pieces;
  view.steps = arrays.steps, view.begins = arrays.begins, view.parts = arrays.parts;
  arrays.view = view;
  lay(arrays, static_cast<unsigned>(sets), stream);
  launch("order_steps", order_steps, static_cast<unsigned>(sets), kOrderThreads, 0, stream, arrays);
}

}  // namespace maskctl::attention::cuda::hopper
