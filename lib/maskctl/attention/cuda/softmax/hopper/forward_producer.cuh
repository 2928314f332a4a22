// The two warps of forward attention on Hopper GPUs that load keys and values: one finds the tiles
// that the mask opens, the other has the copy engine load them into ring buffers.
#pragma once

#include "maskctl/attention/cuda/softmax/hopper/forward_call.cuh"

namespace maskctl::attention::cuda::hopper {

/// A warp that finds the tiles of keys that the mask opens for each tile of queries. It is a few
/// tiles ahead of the producer, because finding a tile takes loads that depend on each other. Lane
/// i reads the tile row of warpgroup i.
template <class Shape>
class Scout {
  using Memory = ForwardMemory<Shape>;
  using Step = typename Memory::Step;
  static constexpr int kCells = Shape::kWarpgroups * Shape::kColumns;

 public:
  __device__ Scout(const ForwardCall& call, Memory& memory)
      : call_(call), memory_(memory), lane_(static_cast<int>(threadIdx.x) % 32) {}

  __device__ __forceinline__ void run() {
    const Index tile_rows = ceil_div(call_.p.d.queries, kTile);
    for (;;) {
      int n = 0;
      if (lane_ == 0) n = atomicAdd(call_.drawn, 1);
      n = __shfl_sync(~0u, n, 0);
      Work work = draw(call_, n);
      if (work.is_end) {
        if (lane_ == 0 && n == last_draw(call_)) *call_.drawn = 0;
        return tell(work);
      }
      const TileTableView& table = table_of(call_.p.by_query, work.b, work.h);
      TileRowWalk row(
          table, lane_ < Shape::kWarpgroups ? work.tile * Shape::kWarpgroups + lane_ : tile_rows,
          tile_rows);
      work.has_tiles = first_of(row) != TileRowWalk::kNone;
      if (work.has_tiles) {
        tell_all(table, row, work);
      } else {
        tell(work);
      }
    }
  }

 private:
  __device__ static int first_of(const TileRowWalk& row) {
    return __reduce_min_sync(~0u, row.next());
  }
  /// Tells the producer of a tile of queries without keys, or that there are no more tiles.
  __device__ __forceinline__ void tell(const Work& work) {
    memory_.step_empty[at_.slot].wait(at_.parity ^ 1);
    if (lane_ == 0) memory_.steps[at_.slot].work = work, memory_.steps[at_.slot].begins = true;
    pass_on();
  }
  /// Tells the producer of all tiles of keys for one tile of queries. For each, every lane reads
  /// which keys are used by one of the 64 x 64 tiles in it, while the next tile of keys is being
  /// found.
  __device__ __forceinline__ void tell_all(const TileTableView& table, TileRowWalk& row,
                                           const Work& work) {
    Cells cells[Shape::kColumns];
    int number = take(table, row, first_of(row), cells);
    for (bool begins = true, is_last = false; !is_last; begins = false) {
      memory_.step_empty[at_.slot].wait(at_.parity ^ 1);
      Step& step = memory_.steps[at_.slot];
      if (lane_ < Shape::kWarpgroups) {
        for (int i = 0; i < Shape::kColumns; ++i) step.cells[lane_][i] = cells[i];
      }
      if (lane_ == 0) {
        step.work = work, step.begins = begins, step.number = number;
        step.payload_rows = table.payload_rows;
      }
      __syncwarp();
      const std::uint64_t used = lane_ < kCells ? look_into(table, step) : 0;
      const int next = first_of(row);
      is_last = next == TileRowWalk::kNone;
      if (!is_last) number = take(table, row, next, cells);
      std::uint64_t used_by_any = used;
#pragma unroll
      for (int i = Shape::kColumns; i < kCells; i += Shape::kColumns) {
        used_by_any |= __shfl_down_sync(~0u, used, i);
      }
      const bool tells_column = lane_ < Shape::kColumns;
      if (tells_column) step.unseen[lane_] = ~used_by_any;
      const bool has_unseen = __any_sync(~0u, tells_column && ~used_by_any != 0);
      if (lane_ == 0) step.is_last = is_last, step.has_unseen = has_unseen;
      pass_on();
    }
  }
  /// Stores in `step` where the payload (the open cells) of the lane's 64 x 64 tile is, and returns
  /// as bits the keys that some row of this tile opens.
  __device__ __forceinline__ std::uint64_t look_into(const TileTableView& table, Step& step) const {
    const int row = lane_ / Shape::kColumns, column = lane_ % Shape::kColumns;
    const Cells cells = step.cells[row][column];
    step.payloads[row][column] = has_payload(cells) ? payload_of(table, cells) : nullptr;
    return used_columns(table, cells);
  }
  /// Finds the tile of keys that contains the 64 x 64 tile n, and returns its number. Sets `cells`
  /// to the cells that this tile opens in the lane's tile row.
  __device__ __forceinline__ int take(const TileTableView& table, TileRowWalk& row, int n,
                                      Cells (&cells)[Shape::kColumns]) {
    const int number = n / Shape::kColumns;
#pragma unroll
    for (int i = 0; i < Shape::kColumns; ++i) {
      cells[i] = row.take(table, number * Shape::kColumns + i);
    }
    return number;
  }
  __device__ __forceinline__ void pass_on() {
    __syncwarp();
    if (lane_ == 0) memory_.step_full[at_.slot].arrive();
    at_.next();
  }

  const ForwardCall& call_;
  Memory& memory_;
  const int lane_;
  Turn<Shape::kStepsAhead> at_;
};

/// A warp that has the copy engine load the tiles that the scout has found.
template <class Shape>
class Producer {
  using Memory = ForwardMemory<Shape>;
  using Step = typename Memory::Step;

 public:
  __device__ Producer(const ForwardCall& call, Memory& memory)
      : call_(call), memory_(memory), is_first_(threadIdx.x % 32 == 0) {}

  /// Loads the first keys before the queries, because the memory for queries may still be in use.
  __device__ __forceinline__ void run() {
    for (;; at_step_.next()) {
      memory_.step_full[at_step_.slot].wait(at_step_.parity);
      const Step& step = memory_.steps[at_step_.slot];
      const Work work = step.work;
      const bool begins = step.begins;
      const Corner corner{0, step.number * Shape::kKeys, work.kv_head, work.b};
      if (work.has_tiles) bring_keys(step, corner);
      __syncwarp();
      if (is_first_) memory_.step_empty[at_step_.slot].arrive();
      if (begins) announce(work);
      if (work.is_end) return;
      if (work.has_tiles) {
        bring_values(corner);
        at_.next();
      }
    }
  }

 private:
  /// Passes a tile of queries to the consumers, and loads it if it has any tile of keys.
  __device__ __forceinline__ void announce(const Work& work) {
    memory_.query_empty[at_query_.slot].wait(at_query_.parity ^ 1);
    if (is_first_) {
      memory_.work[at_query_.slot] = work;
      Barrier& full = memory_.query_full[at_query_.slot];
      if (work.has_tiles) {
        full.arrive_expecting(Shape::kPanels * Memory::kQueryBytes);
        for (int i = 0; i < Shape::kPanels; ++i) {
          load_box(memory_.query[at_query_.slot][i], call_.query,
                   {i * kPanel, work.tile * Shape::kRows, work.h, work.b}, full, kEvictFirst);
        }
      } else {
        full.arrive();
      }
    }
    at_query_.next();
  }
  __device__ __forceinline__ void bring_keys(const Step& step, Corner corner) {
    memory_.key_empty[at_.slot].wait(at_.parity ^ 1);
    if (is_first_) {
      memory_.tiles[at_.slot] = step;
      for (int i = 0; i < Shape::kColumns; ++i)
        memory_.unseen[Memory::round(at_)][i] = step.unseen[i];
      const int bytes = step.payload_rows * static_cast<int>(sizeof(std::uint64_t));
      int payload_bytes = 0;
      each_cells([&](int i, int j) { payload_bytes += step.payloads[i][j] ? bytes : 0; });
      load(memory_.key[at_.slot], call_.key, corner, memory_.key_full[at_.slot], payload_bytes);
      if (payload_bytes > 0) {
        each_cells([&](int i, int j) {
          const std::uint64_t* const from = step.payloads[i][j];
          if (from)
            load_bytes(memory_.payloads[at_.slot][i][j], from, bytes, memory_.key_full[at_.slot]);
        });
      }
    }
  }
  __device__ __forceinline__ void bring_values(Corner corner) {
    memory_.value_empty[at_.slot].wait(at_.parity ^ 1);
    if (is_first_)
      load(memory_.value[at_.slot], call_.value, corner, memory_.value_full[at_.slot], 0);
    __syncwarp();
  }
  template <class F>
  __device__ static __forceinline__ void each_cells(F&& f) {
#pragma unroll
    for (int i = 0; i < Shape::kWarpgroups; ++i) {
#pragma unroll
      for (int j = 0; j < Shape::kColumns; ++j) f(i, j);
    }
  }
  template <int kPanels>
  __device__ __forceinline__ void load(unsigned char (&to)[kPanels][Memory::kKeyBytes],
                                       const CUtensorMap& map, Corner corner, Barrier& full,
                                       int more_bytes) {
    full.arrive_expecting(kPanels * Memory::kKeyBytes + more_bytes);
    for (int i = 0; i < kPanels; ++i) {
      corner.column = i * kPanel;
      load_box(to[i], map, corner, full, kEvictLast);
    }
  }

  const ForwardCall& call_;
  Memory& memory_;
  const bool is_first_;  // whether this is the first lane
  Turn<Shape::kStepsAhead> at_step_;
  Turn<Shape::kTilesOfQueries> at_query_;
  Turn<Shape::kStages> at_;
};

}  // namespace maskctl::attention::cuda::hopper
