// A call of forward attention on the tensor cores of Hopper GPUs: its arguments, its tile sizes,
// and the shared memory of a block.
#pragma once

#include "maskctl/attention/cuda/hopper/async.cuh"
#include "maskctl/attention/cuda/softmax/hopper/mask_walk.cuh"
#include "maskctl/attention/cuda/softmax/logits.cuh"

namespace maskctl::attention::cuda::hopper {

struct ForwardCall {
  SoftmaxParams p;
  CUtensorMap query, key, value, out;  // a box has all rows of a tile; a box of `out` has 64 rows
  const float* means = nullptr;        // see launch_forward in softmax/kernels.h
  float* lse = nullptr;
  float out_scale = 1;
  const int* order = nullptr;  // for each table of by_query: its tile rows, the longest first
  int* drawn = nullptr;        // how many tiles blocks have taken; 0 before and after the kernel
  int tile_rows = 0;           // number of tile rows per head
  int heads_at_once = 1;       // heads whose keys and values fit into the L2 cache together
};

/// How a call is divided into tiles.
struct Tiling {
  int dim, value_dim;  // columns of queries and keys, and of values, padded with zeros
  int keys;            // keys per tile
  int warpgroups;      // how many compute; each has 64 queries of a tile
  int stages;          // tiles of keys, and of values, that shared memory has room for
  int query_slots;     // tiles of queries that shared memory has room for
  bool takes_turns;
  int blocks = 1;  // blocks per multiprocessor
};

/// `kGeneral`: for calls with a bias, a soft cap, dropout, a scale that is not positive, or sums
/// that are not normalised.
template <class T, Tiling kTiling, bool kGeneral>
struct ForwardShape {
  using Element = T;
  static constexpr int kDim = kTiling.dim, kValueDim = kTiling.value_dim;
  static constexpr int kKeys = kTiling.keys, kWarpgroups = kTiling.warpgroups;
  static constexpr int kStages = kTiling.stages, kTilesOfQueries = kTiling.query_slots;
  static constexpr int kBlocks = kTiling.blocks;
  static constexpr bool kTakesTurns = kTiling.takes_turns, kIsGeneral = kGeneral;

  static constexpr int kRows = 64 * kWarpgroups;  // queries per tile
  static constexpr int kPanels = kDim / kPanel, kValuePanels = kValueDim / kPanel;
  // Outputs must fit into the shared memory of the queries, from where they are stored.
  static_assert(kValuePanels <= kPanels);
  /// How many 64 x 64 mask tiles are side by side in a tile.
  static constexpr int kColumns = kKeys / kTile;
  static constexpr int kThreads = 128 * (kWarpgroups + 1);
  /// how many tiles of keys the warp that reads the mask (the scout) may be ahead
  static constexpr int kStepsAhead = 4;
  // Registers per thread of the first warpgroup, and of the others: together all 64 Ki.
  static constexpr int kFew = kWarpgroups == 1 ? 56 : kWarpgroups == 2 ? 40 : 32;
  static constexpr int kMany = kWarpgroups == 1 ? 200 : kWarpgroups == 2 ? 232 : 160;
};

/// A tile of queries that a block computes.
struct Work {
  int b, h, kv_head, tile;
  bool is_end;     // there are no more tiles
  bool has_tiles;  // whether the mask opens any tile of keys for this tile of queries
};

template <class Shape>
struct ForwardMemory {
  static constexpr int kKeyBytes = Shape::kKeys * kPanelRowBytes;  // bytes per panel
  static constexpr int kQueryBytes = Shape::kRows * kPanelRowBytes;

  struct KeyTile {
    int number;
    bool is_last;  // whether it is the last tile of keys for its tile of queries
    bool has_unseen;
    int payload_rows;
    Cells cells[Shape::kWarpgroups][Shape::kColumns];
  };
  using Payload = std::uint64_t[kTile];  // the payload of one 64 x 64 tile in `cells`
  /// What the scout tells the producer: the next tile of keys, or that there is none.
  struct Step : KeyTile {
    Work work;    // the tile of queries that this tile of keys is for
    bool begins;  // whether this is the first tile of keys of `work`
    // payloads of the 64 x 64 tiles; null: a tile without payload
    const std::uint64_t* payloads[Shape::kWarpgroups][Shape::kColumns];
    std::uint64_t unseen[Shape::kColumns];  // bits of keys that none of the queries sees
  };

  unsigned char query[Shape::kTilesOfQueries][Shape::kPanels][kQueryBytes];
  unsigned char key[Shape::kStages][Shape::kPanels][kKeyBytes];
  unsigned char value[Shape::kStages][Shape::kValuePanels][kKeyBytes];
  Payload payloads[Shape::kStages][Shape::kWarpgroups][Shape::kColumns];
  KeyTile tiles[Shape::kStages];  // valid while the slot holds its keys
  // For each tile of keys, the bits of the keys that no query sees. They are needed until the
  // tile's values have been used. By then its slot in `tiles` may hold another tile, so this ring
  // has twice as many slots.
  std::uint64_t unseen[2 * Shape::kStages][Shape::kColumns];
  Work work[Shape::kTilesOfQueries];
  Step steps[Shape::kStepsAhead];
  Barrier step_full[Shape::kStepsAhead], step_empty[Shape::kStepsAhead];
  Barrier query_full[Shape::kTilesOfQueries], query_empty[Shape::kTilesOfQueries];
  Barrier key_full[Shape::kStages], key_empty[Shape::kStages];
  Barrier value_full[Shape::kStages], value_empty[Shape::kStages];

  /// The index of a tile in the ring `unseen`, which has twice as many slots as there are stages.
  __device__ static int round(const Turn<Shape::kStages>& at) {
    return at.slot + Shape::kStages * at.parity;
  }
  __device__ void init() {
    for (int i = 0; i < Shape::kStepsAhead; ++i) step_full[i].init(1), step_empty[i].init(1);
    for (int i = 0; i < Shape::kTilesOfQueries; ++i) {
      query_full[i].init(1), query_empty[i].init(Shape::kWarpgroups);
    }
    for (int i = 0; i < Shape::kStages; ++i) {
      key_full[i].init(1), key_empty[i].init(4 * Shape::kWarpgroups);  // one arrival per warp
      value_full[i].init(1), value_empty[i].init(4 * Shape::kWarpgroups);
    }
    fence_barriers();
  }
};

// Named barriers of several warps. 0 is the barrier of the whole block.
enum Meeting { kTurnOfFirst = 1, kGroupOfFirst = 4, kConsumers = 8 };

/// The number of tiles of queries in all heads.
__device__ inline int tile_count(const ForwardCall& c) {
  return static_cast<int>(c.p.d.batch * c.p.d.q_heads) * c.tile_rows;
}
/// The n-th tile of queries: heads come in groups whose keys fit into the L2 cache together, and in
/// each group the longest tiles come first.
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
/// The largest number n that any block passes to draw(): each block draws until it gets a number
/// for which there is no tile.
__device__ inline int last_draw(const ForwardCall& c) {
  return tile_count(c) + static_cast<int>(gridDim.x) - 1;
}

}  // namespace maskctl::attention::cuda::hopper
