// The weights of softmax attention on Hopper GPUs, and the lse of rows without their outputs.
//
// A block has one tile of queries of one head and goes through the tiles of keys with an open cell.
// It either computes the lse of its rows, or reads their lse and writes their weights. Columns
// outside these tiles get the weight of closed cells. Each warpgroup but the first computes 64
// queries; in the first, one thread loads queries and keys.
#pragma once

#include "maskctl/attention/cuda/hopper/async.cuh"
#include "maskctl/attention/cuda/hopper/fragment.cuh"
#include "maskctl/attention/cuda/hopper/kernel.cuh"
#include "maskctl/attention/cuda/hopper/powers.cuh"
#include "maskctl/attention/cuda/softmax/hopper/mask_walk.cuh"
#include "maskctl/attention/cuda/softmax/logits.cuh"

namespace maskctl::attention::cuda::hopper {

/// `kWritten`: the kernel writes the weights; otherwise it writes the lse.
template <class T, int kWidth, bool kWritten>
struct WeightsShape {
  using Element = T;
  static constexpr bool kWrites = kWritten;
  static constexpr int kDim = kWidth, kPanels = kDim / kPanel;
  static constexpr int kWarpgroups = 3, kRows = 64 * kWarpgroups;
  static constexpr int kThreads = 128 * (1 + kWarpgroups);
  static constexpr int kKeys = kDim > 128 ? 64 : 128, kColumns = kKeys / kTile;
  // kStages: tiles of keys that shared memory has room for; kBlocks: blocks per multiprocessor.
  static constexpr int kStages = kDim > 128 ? 2 : 3, kBlocks = 1;
  // Registers per thread of the first warpgroup, and of the others.
  static constexpr int kFew = 32, kMany = 160;
};

struct WeightsCall {
  SoftmaxParams p;
  CUtensorMap query, key;
  float* lse;       // [B,Hq,Tq]: read if weights are written
  float* out;       // [B,Hq,Tq,Tk]
  int tile_rows;    // tiles of queries per head
  bool is_by_four;  // rows of `out` begin at multiples of 16 bytes
};

template <class Shape>
struct WeightsMemory {
  // The size of a panel of queries, and of keys.
  static constexpr int kQueryBytes = Shape::kRows * kPanelRowBytes;
  static constexpr int kKeyBytes = Shape::kKeys * kPanelRowBytes;
  using Tile = WideTile<Shape::kWarpgroups, Shape::kColumns>;

  unsigned char query[Shape::kPanels][kQueryBytes];
  unsigned char key[Shape::kStages][Shape::kPanels][kKeyBytes];
  Tile tiles[Shape::kStages];  // a tile with number -1 follows the last one
  /// Weights of 32 keys for the 16 rows of a warp. The pitch of a row keeps the lanes that store at
  /// the same time in different banks.
  float columns[Shape::kWrites ? 4 * Shape::kWarpgroups : 1][16][40];
  Barrier query_full, key_full[Shape::kStages], key_empty[Shape::kStages];

  __device__ void init() {
    query_full.init(1);
    for (int i = 0; i < Shape::kStages; ++i) {
      // A slot is empty again when each warp that computes has arrived.
      key_full[i].init(1), key_empty[i].init(4 * Shape::kWarpgroups);
    }
    fence_barriers();
  }
};

/// The tile of queries that a block works on.
struct WeightsWork {
  int b, h, tile;
};
__device__ inline WeightsWork work_of_block(const WeightsCall& c) {
  const int n = static_cast<int>(blockIdx.x), head = n / c.tile_rows;
  const int heads = static_cast<int>(c.p.d.q_heads);
  return {head / heads, head % heads, c.tile_rows - 1 - n % c.tile_rows};
}

/// The thread that loads queries and keys.
template <class Shape>
class WeightsProducer {
  using Memory = WeightsMemory<Shape>;

 public:
  __device__ WeightsProducer(const WeightsCall& call, Memory& memory)
      : call_(call), memory_(memory) {}

  __device__ void run(const WeightsWork& work) {
    memory_.query_full.arrive_expecting(sizeof(memory_.query));
    for (int i = 0; i < Shape::kPanels; ++i) {
      load_box(memory_.query[i], call_.query,
               {i * kPanel, work.tile * Shape::kRows, work.h, work.b}, memory_.query_full,
               kEvictFirst);
    }
    walk(work);
  }

 private:
  __device__ void walk(const WeightsWork& work) {
    const int kv_head = work.h / static_cast<int>(call_.p.d.group());
    WideWalk<Shape::kWarpgroups, Shape::kColumns> walk(table_of(call_.p.by_query, work.b, work.h),
                                                       work.tile, call_.p.d.queries);
    while (!walk.is_at_end()) {
      const typename Memory::Tile tile = walk.next();
      memory_.key_empty[at_.slot].wait(at_.parity ^ 1);
      memory_.tiles[at_.slot] = tile;
      Barrier& full = memory_.key_full[at_.slot];
      full.arrive_expecting(sizeof(memory_.key[0]));
      for (int i = 0; i < Shape::kPanels; ++i) {
        load_box(memory_.key[at_.slot][i], call_.key,
                 {i * kPanel, tile.number * Shape::kKeys, kv_head, work.b}, full, kEvictLast);
      }
      at_.next();
    }
    memory_.key_empty[at_.slot].wait(at_.parity ^ 1);
    memory_.tiles[at_.slot].number = -1;
    memory_.key_full[at_.slot].arrive();
    at_.next();
  }

  const WeightsCall& call_;
  Memory& memory_;
  Turn<Shape::kStages> at_;
};

/// A warpgroup, which computes the weights or the lse of 64 queries. A thread has parts of two
/// rows.
template <class Shape>
class WeightsConsumer {
  using T = typename Shape::Element;
  using Memory = WeightsMemory<Shape>;
  static constexpr int kKeys = Shape::kKeys;
  using Scores = float[kKeys / 2];

 public:
  __device__ WeightsConsumer(const WeightsCall& call, Memory& memory, const WeightsWork& work)
      : call_(call),
        memory_(memory),
        table_(table_of(call.p.by_query, work.b, work.h)),
        group_(__shfl_sync(~0u, static_cast<int>(threadIdx.x) / 128 - 1, 0)),
        thread_(static_cast<int>(threadIdx.x) % 128),
        first_row_(work.tile * Shape::kRows + group_ * 64),
        to_exponent_(call.p.scale * kLog2E) {}

  __device__ __forceinline__ void run(const WeightsWork& work) {
    const Index first =
        (Index{work.b} * call_.p.d.q_heads + work.h) * call_.p.d.queries + first_row_;
    lse_of_rows_ = call_.lse + first;
    if constexpr (Shape::kWrites) {
      out_ = call_.out + first * call_.p.d.keys;
      read_lse();
    }
    memory_.query_full.wait(0);
    walk();
    if constexpr (!Shape::kWrites) write_lse(work.h);
  }

 private:
  __device__ __forceinline__ void walk() {
    Scores scores;
    int end = 0;  // all columns before it are written
    for (;; at_.next()) {
      memory_.key_full[at_.slot].wait(at_.parity);
      const typename Memory::Tile& tile = memory_.tiles[at_.slot];
      // Tells the compiler that the number is the same in all threads of the warp.
      const int number = __shfl_sync(~0u, tile.number, 0);
      if (number < 0) break;
      multiply(scores);
      std::uint32_t words[Shape::kColumns][2];
      const bool is_full = read_cells(tile, number, words);
      wgmma_wait<0>();
      pin(scores);
      release();
      if (!is_full) close_cells(scores, words);
      if constexpr (Shape::kWrites) {
        close(end, number * kKeys);
        write(number * kKeys, scores);
        end = (number + 1) * kKeys;
      } else {
        sum(scores);
      }
    }
    if constexpr (Shape::kWrites) close(end, static_cast<int>(call_.p.d.keys));
  }
  __device__ __forceinline__ void release() {
    __syncwarp();
    if (thread_ % 32 == 0) memory_.key_empty[at_.slot].arrive();
  }
  __device__ __forceinline__ void multiply(Scores& scores) {
    const std::uint64_t query =
        k_major(shared_address(memory_.query[0]) + group_ * 64 * kPanelRowBytes);
    const std::uint64_t key = k_major(shared_address(memory_.key[at_.slot][0]));
    pin(scores);
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < Shape::kDim / 16; ++i) {
      const int panel = i / 4, inside = i % 4 * 32;
      wgmma<T, kKeys, 0, 0>(scores, advanced(query, panel * Memory::kQueryBytes + inside),
                            advanced(key, panel * Memory::kKeyBytes + inside), i > 0);
    }
    wgmma_commit();
  }
  /// Returns true if all cells of a tile are open in the warp's rows. Otherwise fills `words` with
  /// the open cells of the thread's rows.
  __device__ __forceinline__ bool read_cells(const typename Memory::Tile& tile, int number,
                                             std::uint32_t (&words)[Shape::kColumns][2]) const {
    const int keys_left = static_cast<int>(call_.p.d.keys) - number * kKeys;
    bool is_full = keys_left >= kKeys;
#pragma unroll
    for (int i = 0; i < Shape::kColumns; ++i) is_full &= tile.cells[group_][i] == kAllCells;
    if (__all_sync(~0u, is_full)) return true;
#pragma unroll
    for (int i = 0; i < Shape::kColumns; ++i) {
      const Cells cells = tile.cells[group_][i];
      std::uint64_t open[2];
      open_words(cells, has_payload(cells) ? payload_of(table_, cells) : nullptr,
                 table_.payload_rows, fragment_row(thread_, 0), open);
#pragma unroll
      for (int side = 0; side < 2; ++side) {
        words[i][side] = own_columns(open[side] & first_columns(keys_left - kTile * i));
      }
    }
    return false;
  }
  __device__ __forceinline__ void close_cells(Scores& scores,
                                              const std::uint32_t (&words)[Shape::kColumns][2]) {
#pragma unroll
    for (int i = 0; i < kKeys / 2; ++i) {
      if (!is_open(words[i / 32][i / 2 % 2], i % 32)) scores[i] = -kInfinity;
    }
  }

  /// Adds the scores to the thread's own maximum and sum of each row.
  __device__ __forceinline__ void sum(const Scores& scores) {
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      float most = max_[side];
#pragma unroll
      for (int i = 2 * side; i < kKeys / 2; i += 4) {
        most = fmaxf(most, fmaxf(scores[i], scores[i + 1]));
      }
      const float shift = most == -kInfinity ? 0 : most * to_exponent_;
      float sums[2] = {};
#pragma unroll
      for (int i = 2 * side; i < kKeys / 2; i += 4) {
        sums[0] += exp2_approximate(fmaf(scores[i], to_exponent_, -shift));
        sums[1] += exp2_approximate(fmaf(scores[i + 1], to_exponent_, -shift));
      }
      total_[side] = total_[side] * rescale(max_[side], most, shift) + (sums[0] + sums[1]);
      max_[side] = most;
    }
  }
  /// The factor that rescales a sum when the maximum of its scores rises from `before` to `most`;
  /// exactly 1 if both are equal. `shift` is `most` times to_exponent_.
  __device__ __forceinline__ float rescale(float before, float most, float shift) const {
    return before == most ? 1 : exp2_approximate(fmaf(before, to_exponent_, -shift));
  }
  /// Merges the sums of the four threads that share a row, and writes the lse of the rows.
  __device__ __forceinline__ void write_lse(int head) {
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      const float most = max_of_lanes<4>(max_[side]);
      const float shift = most == -kInfinity ? 0 : most * to_exponent_;
      float sum = sum_of_lanes<4>(total_[side] * rescale(max_[side], most, shift));
      float max = most == -kInfinity ? -kInfinity : shift * kLn2;
      if (call_.p.sink_count > 0) add_sinks(call_.p, head, max, sum);
      const int row = fragment_row(thread_, 2 * side);
      if (exists(row) && thread_ % 4 == 0) {
        lse_of_rows_[row] = max == -kInfinity ? -kInfinity : max + logf(sum);
      }
    }
  }
  /// Reads the lse of the rows, and sets the weight of their closed cells. This weight is 0, except
  /// in rows without an open key if there are no sinks: there SoftmaxParams::empty_row decides.
  __device__ __forceinline__ void read_lse() {
    const EmptyRow policy = call_.p.sink_count > 0 ? EmptyRow::kZero : call_.p.empty_row;
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      const int row = fragment_row(thread_, 2 * side);
      const float lse = exists(row) ? lse_of_rows_[row] : 0;
      lse_[side] = lse * kLog2E;
      closed_[side] = lse != -kInfinity || policy == EmptyRow::kZero ? 0
                      : policy == EmptyRow::kNan                     ? nanf("")
                                                 : 1 / static_cast<float>(call_.p.d.keys);
    }
  }

  __device__ __forceinline__ float weight(float score, int side) const {
    return score == -kInfinity ? +closed_[side]
                               : exp2_approximate(fmaf(score, to_exponent_, -lse_[side]));
  }
  /// Writes the weights of a tile whose first key is `key`. A warp collects 32 columns of its rows
  /// in shared memory and stores row after row, so that its lanes write neighbouring columns.
  __device__ __forceinline__ void write(int key, const Scores& scores) {
    if (call_.is_by_four) return write_fours(key, scores);
    const int lane = thread_ % 32, warp = thread_ / 32;
    auto& columns = memory_.columns[group_ * 4 + warp];
#pragma unroll
    for (int first = 0; first < kKeys; first += 32) {
      __syncwarp();
#pragma unroll
      for (int i = first / 2; i < first / 2 + 16; i += 2) {
        const int side = i / 2 % 2, column = fragment_column(lane, i) - first;
        columns[lane / 4 + 8 * side][column] = weight(scores[i], side);
        columns[lane / 4 + 8 * side][column + 1] = weight(scores[i + 1], side);
      }
      __syncwarp();
      const int at_key = key + first + lane;
      if (at_key >= call_.p.d.keys) continue;
      for (int r = 0; r < 16 && exists(16 * warp + r); ++r) {
        *at(16 * warp + r, at_key) = columns[r][lane];
      }
    }
  }
  /// As write(), for rows of `out` that begin at multiples of 16 bytes. Two threads exchange pairs
  /// of weights, so that each has four adjacent columns to store at once.
  __device__ __forceinline__ void write_fours(int key, const Scores& scores) {
    const int thread = thread_here() % 128;
    const bool is_odd = thread % 2 != 0;
    const int begin = key + (is_odd ? 8 : 0) + thread % 4 / 2 * 4;
    const int left = static_cast<int>(call_.p.d.keys) - begin;
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      const int row = fragment_row(thread, 2 * side);
      float* const to = at(row, begin);
      const int end = exists(row) ? left : 0;
#pragma unroll
      for (int i = 2 * side; i < kKeys / 2; i += 8) {
        const float a = weight(scores[i], side), b = weight(scores[i + 1], side);
        const float c = weight(scores[i + 4], side), d = weight(scores[i + 5], side);
        const float x = __shfl_xor_sync(~0u, is_odd ? a : c, 1);
        const float y = __shfl_xor_sync(~0u, is_odd ? b : d, 1);
        if (fragment_column(0, i) < end) {
          __stcs(reinterpret_cast<float4*>(to + fragment_column(0, i)),
                 make_float4(is_odd ? x : a, is_odd ? y : b, is_odd ? c : x, is_odd ? d : y));
        }
      }
    }
  }
  /// Writes the weight of closed cells to columns [begin, end) of all rows. The lanes of a warp
  /// write neighbouring columns of one row.
  __device__ __forceinline__ void close(int begin, int end) {
    if (begin >= end) return;
    const int lane = thread_ % 32;
#pragma unroll 1
    for (int r = 0; r < 16; ++r) {
      const float x = __shfl_sync(~0u, r < 8 ? +closed_[0] : +closed_[1], r % 8 * 4);
      const int row = thread_ / 32 * 16 + r;
      if (!exists(row)) break;
      if (call_.is_by_four) {
        for (int i = begin + 4 * lane; i < end; i += 128) {
          __stcs(reinterpret_cast<float4*>(at(row, i)), make_float4(x, x, x, x));
        }
      } else {
        for (int i = begin + lane; i < end; i += 32) *at(row, i) = x;
      }
    }
  }
  __device__ __forceinline__ bool exists(int row) const {
    return first_row_ + row < call_.p.d.queries;
  }
  __device__ __forceinline__ float* at(int row, int column) const {
    return out_ + row * call_.p.d.keys + column;
  }

  const WeightsCall& call_;
  Memory& memory_;
  const TileTableView& table_;
  const int group_, thread_, first_row_;
  const float to_exponent_;  // factor that turns a score into an exponent of two
  Turn<Shape::kStages> at_;
  // Where the weights and the lse of the warpgroup's first row begin.
  float *out_ = nullptr, *lse_of_rows_ = nullptr;
  float max_[2] = {-kInfinity, -kInfinity}, total_[2] = {};
  // Of the thread's two rows: the lse times log2(e), and the weight of closed cells.
  float lse_[2], closed_[2];
};

template <class Shape>
__global__ void __launch_bounds__(Shape::kThreads, Shape::kBlocks)
    weights_kernel(const __grid_constant__ WeightsCall call) {
  using Memory = WeightsMemory<Shape>;
  Memory& memory = block_memory<Memory>();
  if (threadIdx.x == 0) memory.init();
  __syncthreads();
  const WeightsWork work = work_of_block(call);
  if (threadIdx.x < 128) {
    give_registers<Shape::kFew>();
    if (threadIdx.x == 0) WeightsProducer<Shape>(call, memory).run(work);
  } else {
    take_registers<Shape::kMany>();
    WeightsConsumer<Shape>(call, memory, work).run(work);
  }
}

}  // namespace maskctl::attention::cuda::hopper
