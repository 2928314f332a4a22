// The thread of the backward kernel that loads the data of a block into shared memory.
#pragma once

#include "maskctl/attention/cuda/softmax/hopper/key_lists.cuh"

namespace maskctl::attention::cuda::hopper {

/// The number of the first 64 x 64 tile of a tile row, from tile `begin` on, that is not empty;
/// kNone if there is none.
__device__ inline int first_from(const TileTableView& table, int tile_row, int begin) {
  int low = static_cast<int>(table.row_begins[tile_row]);
  const int end = static_cast<int>(table.row_ends[tile_row]);
  for (int high = end; low < high;) {  // binary search: runs below `low` end at or before `begin`
    const int middle = (low + high) / 2;
    if (table.runs[middle].first + table.runs[middle].count <= begin) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low == end ? TileRowWalk::kNone : max(table.runs[low].first, begin);
}

/// The thread that loads what the consumers read.
template <class Shape>
class BackwardProducer {
  using Memory = BackwardMemory<Shape>;

 public:
  __device__ BackwardProducer(const BackwardCall& call, Memory& memory, KeyTile tile)
      : call_(call), memory_(memory), tile_(tile) {}

  __device__ void run() {
    const Corner corner{0, tile_.number * Shape::kKeys, tile_.kv_head, tile_.batch};
    load<Memory::kKeyBytes>(memory_.key, call_.key, corner, memory_.key_full, 0, kEvictFirst);
    load<Memory::kKeyBytes>(memory_.value, call_.value, corner, memory_.value_full, 0, kEvictFirst);
    await_previous_kernel();
    bring_all(call_.parts[blockIdx.x]);
    memory_.query_empty[at_.slot].wait(at_.parity ^ 1);
    memory_.steps[at_.slot].number = -1;
    memory_.query_full[at_.slot].arrive();
  }

 private:
  using Tile = WideTile<Shape::kMaskRows, Shape::kMaskColumns>;

  __device__ void bring_all(const KeyPart& part) {
    if (call_.turns && call_.walks.steps) return bring_in_turn(part);
    for_each_tile<Shape::kMaskRows, Shape::kMaskColumns>(
        call_.b.p.by_key, call_.group, call_.b.p.d.keys, call_.query_tiles / Shape::kMaskColumns,
        tile_, part.begin, part.end, [&](int i, const Tile& tile) {
          const int head = tile_.kv_head * call_.group + i;
          bring(head, tile, call_.turns ? tile_behind(head, tile.number) : 0);
        });
  }
  /// Walks as KeyWalks has laid out.
  __device__ void bring_in_turn(const KeyPart& part) {
    const KeyWalksView& walks = call_.walks;
    const Index set = walks.set(tile_.batch, tile_.kv_head);
    const int* const begin = walks.begins + set * (walks.most_parts + 1) +
                             walks.parts[set * walks.tile_rows + tile_.number] + part.nth;
    for (int n = begin[0]; n < begin[1]; ++n) {
      const KeyStep& step = walks.steps[set * walks.most_steps + n];
      Tile tile{step.number, {}};
      for (int i = 0; i < Shape::kMaskRows; ++i) {
        for (int j = 0; j < Shape::kMaskColumns; ++j) {
          tile.cells[i][j] = step.cells[i * Shape::kMaskColumns + j];
        }
      }
      bring(tile_.kv_head * call_.group + step.head, tile, step.after);
    }
  }
  __device__ void bring(int head, const Tile& tile, int after) {
    const Corner corner{0, tile.number * Shape::kQueries, head, tile_.batch};
    memory_.query_empty[at_.slot].wait(at_.parity ^ 1);
    typename Memory::Step& step = memory_.steps[at_.slot];
    step.head = head, step.number = tile.number;
    step.after = after;
    for (int i = 0; i < Shape::kMaskRows; ++i) {
      for (int j = 0; j < Shape::kMaskColumns; ++j) step.cells[i][j] = tile.cells[i][j];
    }
    constexpr int kRowBytes = Shape::kMaskColumns * 2 * kTile * 4;
    load<Memory::kQueryBytes>(memory_.query[at_.slot], call_.query, corner,
                              memory_.query_full[at_.slot], kRowBytes, kEvictLast);
    const Index first = (Index{tile_.batch} * call_.b.p.d.q_heads + head) * call_.query_tiles +
                        tile.number * Shape::kMaskColumns;
    load_bytes(memory_.rows[at_.slot], call_.rows + first * 2 * kTile, kRowBytes,
               memory_.query_full[at_.slot]);
    memory_.d_out_empty[at_out_.slot].wait(at_out_.parity ^ 1);
    load<Memory::kQueryBytes>(memory_.d_out[at_out_.slot], call_.d_out, corner,
                              memory_.d_out_full[at_out_.slot], 0, kEvictLast);
    at_.next(), at_out_.next();
  }
  /// 1 + the number of the next tile of keys that adds to the same queries; 0 if there is none.
  __device__ int tile_behind(int head, int number) const {
    const TileTableView& table = table_of(call_.b.p.by_query, tile_.batch, head);
    const int rows = static_cast<int>(ceil_div(call_.b.p.d.queries, kTile));
    int next = TileRowWalk::kNone;
    for (int i = 0; i < Shape::kMaskColumns; ++i) {
      const int row = number * Shape::kMaskColumns + i;
      if (row < rows)
        next = min(next, first_from(table, row, (tile_.number + 1) * Shape::kMaskRows));
    }
    return next == TileRowWalk::kNone ? 0 : next / Shape::kMaskRows + 1;
  }
  /// Loads all panels of a tile. `more`: the bytes of further loads that `full` waits for.
  template <int kBytes>
  __device__ void load(unsigned char (&to)[Shape::kPanels][kBytes], const CUtensorMap& map,
                       Corner corner, Barrier& full, int more, std::uint64_t policy) {
    full.arrive_expecting(Shape::kPanels * kBytes + more);
    for (int i = 0; i < Shape::kPanels; ++i) {
      corner.column = i * kPanel;
      load_box(to[i], map, corner, full, policy);
    }
  }

  const BackwardCall& call_;
  Memory& memory_;
  const KeyTile tile_;
  Turn<Shape::kStages> at_;
  Turn<Shape::kOutStages> at_out_;
};

}  // namespace maskctl::attention::cuda::hopper
