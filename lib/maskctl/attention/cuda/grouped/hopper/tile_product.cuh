// Device code of the grouped product on the tensor cores of Hopper GPUs.
#pragma once

#include "maskctl/attention/cuda/grouped/grouped_product.h"
#include "maskctl/attention/cuda/hopper/cluster.cuh"
#include "maskctl/attention/cuda/hopper/kernel.cuh"
#include "maskctl/attention/cuda/hopper/piece.cuh"

namespace maskctl::attention::cuda::hopper {

/// kRows: rows of a group times its matrix; kRowsTransposed: times the transposed matrix;
/// kColumns: the sum over the rows of a group of left^T right.
enum class Grouped { kRows, kRowsTransposed, kColumns };

/// The shape of a tile, kRows x kColumns x kDepth, and of the block that computes it.
template <class T, Grouped kProduct>
struct GroupedShape {
  using Element = T;
  static constexpr Grouped kKind = kProduct;
  static constexpr bool kSumsRows = kProduct == Grouped::kColumns;
  static constexpr int kWarpgroups = 2, kThreads = 128 * (1 + kWarpgroups);
  static constexpr int kRows = 64 * kWarpgroups, kColumns = 256, kDepth = 64, kStages = 4;
  static constexpr int kPanels = kColumns / kPanel;  // panels of the right factor in a stage
  static constexpr int kTransposedLeft = kSumsRows ? 1 : 0;
  static constexpr int kTransposedRight = kProduct == Grouped::kRowsTransposed ? 0 : 1;
  static constexpr int kFew = 40, kMany = 232;  // registers of a thread: producer, consumer
};

struct GroupedCall {
  CUtensorMap left, right;  // boxes of 64 rows
  AnyResult out;            // [rows,columns]; kColumns: [G,height,columns]
  AnyArray added;           // [rows,columns], or null
  Index height, columns;
  int depth;             // inner dimension; unused for kColumns
  const RowTile* parts;  // GroupedPlan::large_tiles(); for kColumns, by_size()
  int part_count;
  const Index* rows;  // row n of `left` is for row rows[n] of `out`; null: for row n
};

/// A tile of the product.
struct GroupedTile {
  int matrix;
  int first, count;  // rows of `left`: those of the tile; for kColumns, all rows of its group
  int row, column;   // begin of the tile in `out`; row: only for kColumns
};

template <class Shape>
struct GroupedMemory {
  static constexpr int kPanelBytes = 64 * kPanelRowBytes;
  /// Operands of one step of kDepth along the inner dimension: a left panel for each warpgroup, and
  /// the right panels, which both blocks of the cluster use, each for 64 columns of the tile.
  struct Stage {
    unsigned char left[Shape::kWarpgroups][kPanelBytes], right[Shape::kPanels][kPanelBytes];
  };
  Stage stages[Shape::kStages];
  Barrier full[Shape::kStages], empty[Shape::kStages];

  __device__ void init() {
    for (int i = 0; i < Shape::kStages; ++i) {
      full[i].init(1),
          empty[i].init(4 * Shape::kWarpgroups * kClusterBlocks);  // an arrival per warp
    }
    fence_barriers();
  }
};

inline constexpr int kRowsCleared = 1;  // id of the named barrier of clear_rows()

/// How many cluster tiles lie below each other in the result. A cluster tile consists of one tile
/// for each block of a cluster.
template <class Shape>
constexpr int tiles_down(const GroupedCall& c) {
  constexpr int kRows = Shape::kRows * kClusterBlocks;
  return Shape::kSumsRows ? static_cast<int>(ceil_div(c.height, kRows))
                          : c.part_count / kClusterBlocks;
}
template <class Shape>
constexpr int tiles_across(const GroupedCall& c) {
  return static_cast<int>(ceil_div(c.columns, Shape::kColumns));
}
/// Returns the number of cluster tiles (one tile for each block of a cluster) in the result.
template <class Shape>
constexpr int tile_count(const GroupedCall& c) {
  return tiles_down<Shape>(c) * tiles_across<Shape>(c) * (Shape::kSumsRows ? c.part_count : 1);
}
/// This block's tile in cluster tile n. Tiles are numbered in vertical strips 8 tiles wide, so that
/// tiles that run at the same time share rows and columns and their operands fit in the cache.
template <class Shape>
__device__ GroupedTile tile_at(const GroupedCall& c, int n) {
  constexpr int kStrip = 8;
  const int down = tiles_down<Shape>(c), across = tiles_across<Shape>(c);
  const int group = Shape::kSumsRows ? n / (down * across) : 0;
  n -= group * down * across;
  const int strip = n / (down * kStrip) * kStrip, width = min(kStrip, across - strip);
  n -= strip * down;
  const int row = n / width * kClusterBlocks + block_of_cluster();
  const RowTile& rows = c.parts[Shape::kSumsRows ? group : row];
  return {static_cast<int>(rows.matrix), static_cast<int>(rows.range.begin),
          static_cast<int>(rows.range.size()), Shape::kSumsRows ? row * Shape::kRows : 0,
          (strip + n % width) * Shape::kColumns};
}
template <class Shape>
__device__ int depth_of(const GroupedCall& c, const GroupedTile& tile) {
  return Shape::kSumsRows ? tile.count : c.depth;
}

/// Calls f(tile) for each tile of this block.
template <class Shape, class F>
__device__ __forceinline__ void each_tile(const GroupedCall& c, F&& f) {
  const int tiles = tile_count<Shape>(c);
  int n = static_cast<int>(blockIdx.x) / kClusterBlocks;
  GroupedTile tile = tile_at<Shape>(c, n);
  while (n < tiles) {
    n += static_cast<int>(gridDim.x) / kClusterBlocks;
    const GroupedTile next = tile_at<Shape>(c, min(n, tiles - 1));  // prefetched during f()
    f(tile);
    tile = next;
  }
}

/// The thread that loads the operands to shared memory.
template <class Shape>
class GroupedProducer {
  using Memory = GroupedMemory<Shape>;

 public:
  __device__ GroupedProducer(const GroupedCall& call, Memory& memory)
      : call_(call), memory_(memory) {}

  __device__ void run() {
    each_tile<Shape>(call_, [this](const GroupedTile& tile) {
      const int depth = depth_of<Shape>(call_, tile);
      for (int d = 0; d < depth; d += Shape::kDepth, at_.next()) {
        memory_.empty[at_.slot].wait(at_.parity ^ 1);
        bring(tile, d);
      }
    });
  }

 private:
  __device__ void bring(const GroupedTile& tile, int d) {
    typename Memory::Stage& stage = memory_.stages[at_.slot];
    Barrier& full = memory_.full[at_.slot];
    const int groups =
        Shape::kSumsRows ? Shape::kWarpgroups : min(Shape::kWarpgroups, (tile.count + 63) / 64);
    full.arrive_expecting(static_cast<int>(sizeof(stage.right)) + groups * Memory::kPanelBytes);
    for (int i = 0; i < groups; ++i) {
      load_box(stage.left[i], call_.left,
               Shape::kSumsRows ? Corner{tile.row + 64 * i, tile.first + d, 0, 0}
                                : Corner{d, tile.first + 64 * i, 0, 0},
               full, kEvictNormally);
    }
    for (int i = block_of_cluster(); i < Shape::kPanels; i += kClusterBlocks) {
      const int column = tile.column + 64 * i;
      load_box_everywhere(stage.right[i], call_.right,
                          Shape::kKind == Grouped::kColumns ? Corner{column, tile.first + d, 0, 0}
                          : Shape::kKind == Grouped::kRows  ? Corner{column, d, tile.matrix, 0}
                                                            : Corner{d, column, tile.matrix, 0},
                          full, kEvictNormally);
    }
  }

  const GroupedCall& call_;
  Memory& memory_;
  Turn<Shape::kStages> at_;
};

/// A warpgroup that computes and stores 64 rows of each tile.
template <class Shape>
class GroupedConsumer {
  using T = typename Shape::Element;
  using Memory = GroupedMemory<Shape>;

 public:
  __device__ GroupedConsumer(const GroupedCall& call, Memory& memory)
      : call_(call),
        memory_(memory),
        group_(__shfl_sync(~0u, static_cast<int>(threadIdx.x) / 128 - 1, 0)),
        thread_(static_cast<int>(threadIdx.x) % 128) {}

  __device__ __forceinline__ void run() {
    each_tile<Shape>(call_, [this](const GroupedTile& tile) {
      const int depth = depth_of<Shape>(call_, tile);
      if (Shape::kSumsRows || group_ * 64 < tile.count) {
        sum(depth);
        store(tile);
      } else {
        skip(depth);
      }
    });
  }

 private:
  __device__ __forceinline__ void sum(int depth) {
    int before = -1;  // stage of shared memory that unfinished products read; -1: none
    for (int d = 0; d < depth; d += Shape::kDepth, at_.next()) {
      memory_.full[at_.slot].wait(at_.parity);
      if (Shape::kSumsRows && depth - d < Shape::kDepth) clear_rows(depth - d);
      multiply(d > 0);
      wgmma_wait<1>();
      if (before >= 0) release(before);
      before = at_.slot;
    }
    wgmma_wait<0>();
    pin(sums_);
    if (before >= 0) release(before);
    if (depth == 0) {
#pragma unroll
      for (float& x : sums_) x = 0;
    }
  }
  __device__ __forceinline__ void skip(int depth) {
    for (int d = 0; d < depth; d += Shape::kDepth, at_.next()) {
      memory_.full[at_.slot].wait(at_.parity);
      release(at_.slot);
    }
  }
  __device__ __forceinline__ void release(int slot) {
    if (thread_ % 32 < kClusterBlocks) arrive_at(memory_.empty[slot], thread_ % 32);
  }
  /// Sets rows `first` and later of the current stage to zero: they belong to another group.
  __device__ void clear_rows(int first) {
    typename Memory::Stage& stage = memory_.stages[at_.slot];
    clear_rows(stage.left[group_], first);
    for (int i = group_; i < Shape::kPanels; i += Shape::kWarpgroups) {
      clear_rows(stage.right[i], first);
    }
    fence_shared_writes();
    sync(kRowsCleared, 128 * Shape::kWarpgroups);
  }
  __device__ void clear_rows(unsigned char* panel, int first) {
    for (int at = first * kPanelRowBytes + thread_ * 16; at < Memory::kPanelBytes; at += 128 * 16) {
      *reinterpret_cast<uint4*>(panel + at) = make_uint4(0, 0, 0, 0);
    }
  }
  __device__ __forceinline__ void multiply(bool adds) {
    constexpr int kTransposedStep = 16 * kPanelRowBytes, kStep = 32;  // bytes per 16 of kDepth
    const typename Memory::Stage& stage = memory_.stages[at_.slot];
    const auto factor = [](std::uint32_t address, bool is_transposed) {
      return is_transposed ? transposed(address, Memory::kPanelBytes) : k_major(address);
    };
    const std::uint64_t a = factor(shared_address(stage.left[group_]), Shape::kTransposedLeft);
    const std::uint64_t b = factor(shared_address(stage.right), Shape::kTransposedRight);
    pin(sums_);
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < Shape::kDepth / 16; ++i) {
      wgmma<T, Shape::kColumns, Shape::kTransposedLeft, Shape::kTransposedRight>(
          sums_, advanced(a, i * (Shape::kTransposedLeft ? kTransposedStep : kStep)),
          advanced(b, i * (Shape::kTransposedRight ? kTransposedStep : kStep)), adds || i > 0);
    }
    wgmma_commit();
  }

  __device__ __forceinline__ void store(const GroupedTile& tile) {
    Index begins[2];  // where the thread's two rows begin in `out`; -1: not stored
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      const int row = group_ * 64 + fragment_row(thread_, 2 * side);
      begins[side] = row_of_out(tile, row);
      if (begins[side] >= 0) begins[side] = begins[side] * call_.columns + tile.column;
    }
    const int columns = static_cast<int>(call_.columns) - tile.column;
    if (!Shape::kSumsRows && call_.out.dtype == DType::kFloat32) {
      if (call_.added.data) add(static_cast<const float*>(call_.added.data), begins, columns);
      store_floats(begins, columns);
      return;
    }
    if (!Shape::kSumsRows && call_.added.data) {
      add(static_cast<const T*>(call_.added.data), begins, columns);
    }
    T* const out = static_cast<T*>(call_.out.data);
#pragma unroll
    for (int i = 0; i < Shape::kPanels; ++i) {
      T* to[2];
#pragma unroll
      for (int side = 0; side < 2; ++side) {
        to[side] = begins[side] < 0 ? nullptr : out + begins[side] + i * kPanel;
      }
      store_rows(sums_ + 32 * i, 1, to, columns - i * kPanel);
    }
  }
  /// The row in `out` of a row of the tile, counted through all matrices for kColumns; -1: not
  /// stored.
  __device__ __forceinline__ Index row_of_out(const GroupedTile& tile, int row) const {
    if constexpr (Shape::kSumsRows) {
      const Index in_matrix = tile.row + row;
      return in_matrix < call_.height ? tile.matrix * call_.height + in_matrix : -1;
    }
    if (row >= tile.count) return -1;
    const Index n = Index{tile.first} + row;
    return call_.rows ? call_.rows[n] : n;
  }
  template <class Added>
  __device__ __forceinline__ void add(const Added* added, const Index (&begins)[2], int columns) {
#pragma unroll
    for (int i = 0; i < Shape::kColumns / 2; ++i) {
      const Index begin = begins[i / 2 % 2];
      const int column = fragment_column(thread_, i);
      if (begin >= 0 && column < columns) sums_[i] += to_float(added[begin + column]);
    }
  }
  __device__ __forceinline__ void store_floats(const Index (&begins)[2], int columns) {
    float* const out = static_cast<float*>(call_.out.data);
#pragma unroll
    for (int i = 0; i < Shape::kColumns / 2; i += 2) {
      const Index begin = begins[i / 2 % 2];
      const int column = fragment_column(thread_, i);
      if (begin >= 0 && column < columns) {
        *reinterpret_cast<float2*>(out + begin + column) = make_float2(sums_[i], sums_[i + 1]);
      }
    }
  }

  const GroupedCall& call_;
  Memory& memory_;
  const int group_, thread_;
  Turn<Shape::kStages> at_;
  float sums_[Shape::kColumns / 2];
};

}  // namespace maskctl::attention::cuda::hopper
