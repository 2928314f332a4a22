// A call of forward attention on the tensor cores of Hopper GPUs, how it is cut, and what a block
// has in shared memory.
#pragma once

#include "maskctl/attention/cuda/hopper/async.cuh"
#include "maskctl/attention/cuda/hopper/mask_walk.cuh"
#include "maskctl/attention/cuda/softmax/tile.cuh"

namespace maskctl::attention::cuda::hopper {

struct ForwardCall {
  SoftmaxParams p;
  CUtensorMap query, key, value, out;  // boxes of all rows of a tile; for `out`, of 64 rows
  const float* means = nullptr;        // see launch_forward of kernels.h
  float* lse = nullptr;
  const int* order = nullptr;  // for each table of by_query: its tile rows, the longest first
  int* drawn = nullptr;        // how many tiles blocks have drawn; 0 before and after
  int tile_rows = 0;           // per head
  int heads_at_once = 1;       // whose keys and values fit into the L2 cache together
};

/// How a call is cut.
struct Tiling {
  int dim;          // columns of queries, keys and values, padded with zeros
  int keys;         // per tile
  int warpgroups;   // with 64 queries each
  int stages;       // tiles of keys, and of values, in shared memory
  int query_slots;  // tiles of queries in shared memory
  bool takes_turns;
  int blocks = 1;  // per multiprocessor
};

/// `kGeneral`: with a bias, a soft cap, dropout, a scale that is not positive, or sums that are not
/// normalised.
template <class T, Tiling kTiling, bool kGeneral>
struct ForwardShape {
  using Element = T;
  static constexpr int kDim = kTiling.dim, kKeys = kTiling.keys, kWarpgroups = kTiling.warpgroups;
  static constexpr int kStages = kTiling.stages, kTilesOfQueries = kTiling.query_slots;
  static constexpr int kBlocks = kTiling.blocks;
  static constexpr bool kTakesTurns = kTiling.takes_turns, kIsGeneral = kGeneral;

  static constexpr int kRows = 64 * kWarpgroups;  // queries of a tile
  static constexpr int kPanels = kDim / kPanel;
  static constexpr int kColumns = kKeys / kTile;  // 64 x 64 tiles of the mask side by side
  static constexpr int kThreads = 128 * (kWarpgroups + 1);
  static constexpr int kStepsAhead = 4;  // how many tiles of keys the scout may know of
  // Registers of a thread: all 64 Ki are shared out.
  static constexpr int kFew = kWarpgroups == 1 ? 56 : kWarpgroups == 2 ? 40 : 32;
  static constexpr int kMany = kWarpgroups == 1 ? 200 : kWarpgroups == 2 ? 232 : 160;
};

/// A tile of queries.
struct Work {
  int b, h, kv_head, tile;
  bool is_end;     // there are no more tiles
  bool has_tiles;  // whether it meets tiles of keys
};

template <class Shape>
struct ForwardMemory {
  static constexpr int kKeyBytes = Shape::kKeys * kPanelRowBytes;  // per panel
  static constexpr int kQueryBytes = Shape::kRows * kPanelRowBytes;

  struct KeyTile {
    int number;
    bool is_last;  // the last that the tile of queries meets
    bool has_unseen;
    int payload_rows;
    Cells cells[Shape::kWarpgroups][Shape::kColumns];
  };
  using Payload = std::uint64_t[kTile];  // the payload of one of `cells`
  /// What the scout tells the producer: a tile of keys, or that there is none.
  struct Step : KeyTile {
    Work work;    // the tile of queries that meets it
    bool begins;  // whether this is the first tile of keys of `work`
    const std::uint64_t* payloads[Shape::kWarpgroups][Shape::kColumns];  // null: no payload
    std::uint64_t unseen[Shape::kColumns];  // keys that none of the queries sees
  };

  unsigned char query[Shape::kTilesOfQueries][Shape::kPanels][kQueryBytes];
  unsigned char key[Shape::kStages][Shape::kPanels][kKeyBytes];
  unsigned char value[Shape::kStages][Shape::kPanels][kKeyBytes];
  Payload payloads[Shape::kStages][Shape::kWarpgroups][Shape::kColumns];
  KeyTile tiles[Shape::kStages];  // valid while the slot holds its keys
  // Kept for each tile until its values are used, when its slot may hold the keys of another tile.
  std::uint64_t unseen[2 * Shape::kStages][Shape::kColumns];
  Work work[Shape::kTilesOfQueries];
  Step steps[Shape::kStepsAhead];
  Barrier step_full[Shape::kStepsAhead], step_empty[Shape::kStepsAhead];
  Barrier query_full[Shape::kTilesOfQueries], query_empty[Shape::kTilesOfQueries];
  Barrier key_full[Shape::kStages], key_empty[Shape::kStages];
  Barrier value_full[Shape::kStages], value_empty[Shape::kStages];

  /// The index of a tile in a ring of twice as many slots.
  __device__ static int round(const Turn<Shape::kStages>& at) {
    return at.slot + Shape::kStages * at.parity;
  }
  __device__ void init() {
    for (int i = 0; i < Shape::kStepsAhead; ++i) step_full[i].init(1), step_empty[i].init(1);
    for (int i = 0; i < Shape::kTilesOfQueries; ++i) {
      query_full[i].init(1), query_empty[i].init(Shape::kWarpgroups);
    }
    for (int i = 0; i < Shape::kStages; ++i) {
      key_full[i].init(1), key_empty[i].init(4 * Shape::kWarpgroups);  // each warp
      value_full[i].init(1), value_empty[i].init(4 * Shape::kWarpgroups);
    }
    fence_barriers();
  }
};

// Barriers of several warps; 0 is the whole block.
enum Meeting { kTurnOfFirst = 1, kGroupOfFirst = 4, kConsumers = 8 };

/// How many tiles of queries all heads have.
__device__ inline int tile_count(const ForwardCall& c) {
  return static_cast<int>(c.p.d.batch * c.p.d.q_heads) * c.tile_rows;
}
/// The n-th tile of queries: heads go in groups whose keys fit into the cache, the longest tiles of
/// a group first.
__device__ inline Work draw(const ForwardCall& c, int n) {
  const int heads = static_cast<int>(c.p.d.batch * c.p.d.q_heads);
  const int first = n / (c.tile_rows * c.heads_at_once) * c.heads_at_once;
  if (n >= tile_count(c)) return {0, 0, 0, 0, true, false};
  const int together = min(c.heads_at_once, heads - first);
  n -= first * c.tile_rows;
  const int head = first + n % together;
  const int b = head / static_cast<int>(c.p.d.q_heads), h = head % static_cast<int>(c.p.d.q_heads);
  const int kv_head = h / static_cast<int>(c.p.d.group());
  const int table = static_cast<int>(table_number(c.p.by_query, b, h));
  return {b, h, kv_head, c.order[table * c.tile_rows + n / together], false, false};
}
/// The last number that a block draws: each draws until there is no tile.
__device__ inline int last_draw(const ForwardCall& c) {
  return tile_count(c) + static_cast<int>(gridDim.x) - 1;
}

}  // namespace maskctl::attention::cuda::hopper
