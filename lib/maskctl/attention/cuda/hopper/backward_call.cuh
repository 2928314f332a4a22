// One backward call as its kernel takes it: the sizes of tiles, arguments, and shared memory.
#pragma once

#include "maskctl/attention/cuda/hopper/async.cuh"
#include "maskctl/attention/cuda/hopper/kernel.cuh"
#include "maskctl/attention/cuda/hopper/key_order.h"
#include "maskctl/attention/cuda/hopper/mask_walk.cuh"
#include "maskctl/attention/cuda/hopper/piece.cuh"
#include "maskctl/attention/cuda/hopper/powers.cuh"
#include "maskctl/attention/cuda/softmax/kernels.h"

namespace maskctl::attention::cuda::hopper {

/// What a block makes, for arrays whose rows have at most `kWidth` elements. `kFine`: tiles of 64 x
/// 64, for masks that leave most tiles around an open one closed.
template <class T, int kWidth, bool kFine, bool kGeneral>
struct BackwardShape {
  using Element = T;
  static constexpr int kDim = kWidth, kPanels = kDim / kPanel;
  /// Bias, soft cap or dropout: each weight depends on its position.
  static constexpr bool kIsGeneral = kGeneral;
  static constexpr bool kIsWide = kDim > 128;  // warpgroups have the same keys
  static_assert(!(kIsWide && kFine));
  static constexpr int kBlocks = kFine ? 2 : 1;  // on a multiprocessor
  static constexpr int kWarpgroups = kFine ? 1 : 2, kThreads = 128 * (1 + kWarpgroups);
  static constexpr int kKeys = kIsWide ? 64 : 64 * kWarpgroups;
  static constexpr int kQueries = kDim == 64 && !kFine ? 128 : 64;
  static constexpr int kMaskRows = kKeys / kTile, kMaskColumns = kQueries / kTile;
  // What one warpgroup computes:
  static constexpr int kScoreQueries = kIsWide ? 32 : kQueries;
  static constexpr int kSumColumns = kIsWide ? kDim / 2 : kDim;
  static constexpr int kPieces = kMaskColumns * kPanels / kWarpgroups;  // pieces of d_query
  static constexpr int kPiecesAtOnce = kIsWide ? 2 : 1;
  // Tiles in shared memory:
  static constexpr int kStages = 2, kOutStages = kIsWide || (kFine && kDim > 64) ? 1 : 2;
  /// Tiles for the gradients of the scores. Of two warpgroups each has a tile, which the other
  /// reads; where kIsWide, the second tile holds the weights.
  static constexpr int kScoreTiles = kWarpgroups;
  static constexpr int kFew = kFine ? 32 : 56, kMany = kFine ? 224 : 224;  // registers
};

/// Queries and keys of a tile of the kernel.
struct BackwardTiles {
  int queries, keys;
};
constexpr BackwardTiles backward_tiles(int width, bool is_fine) {
  const auto of = []<class Shape>(Shape) { return BackwardTiles{Shape::kQueries, Shape::kKeys}; };
  if (is_fine) return of(BackwardShape<__half, 128, true, false>());
  return width == 64    ? of(BackwardShape<__half, 64, false, false>())
         : width == 128 ? of(BackwardShape<__half, 128, false, false>())
                        : of(BackwardShape<__half, 256, false, false>());
}

/// The width of the kernel for a call.
inline int width_of(const Dims& d) {
  const Index columns = std::max(d.dim, d.value_dim);
  return columns <= 64 ? 64 : columns <= 128 ? 128 : 256;
}
/// How many key heads blocks work on at a time: their queries, d_out and d_query fit in half of the
/// L2 cache.
inline int heads_at_a_time(const Dims& d, int width) {
  constexpr Index kCacheBytes = 32 << 20;
  const Index bytes = d.group() * d.queries * width * (2 + 2 + 4);
  return static_cast<int>(std::clamp<Index>(kCacheBytes / bytes, 1, d.batch * d.kv_heads));
}

/// Whether the first block that has a turn at a piece of d_query stores its sums there instead of
/// adding them, so that the piece need not be zero. (Not at 256 columns: there are so many pieces
/// that the products would wait for the adders.)
constexpr bool stores_first(int width) { return width <= 128; }

/// The arguments of the backward kernel.
struct BackwardCall {
  BackwardParams b;
  CUtensorMap query, key, value, d_out;
  /// [B,Hq,query_tiles,2,64]: lse / ln 2, infinite for rows that have no key or do not exist, and
  /// delta.
  const float* rows;
  float* d_query;  // pieces [B,Hq,query_tiles,kPanels], zeros unless the first sums are stored
  /// For each piece of d_query, 1 + the last tile of keys whose sums were added, or 0 at first.
  /// null: tiles are added in any order.
  int* turns;
  int query_tiles;       // tiles of 64, rounded up to whole tiles of the kernel
  int group;             // query heads of a key head
  const KeyPart* parts;  // one for each block
  const KeyPart* split;  // the parts of tiles that have several
  float* sums;           // pieces of the parts in `split`, see SumsOfPart
  const float* mean_shares;
  void *d_key, *d_value;  // arrays of the kernel's element
};

/// Shared memory of a block.
template <class Shape>
struct BackwardMemory {
  static constexpr int kKeyBytes = Shape::kKeys * kPanelRowBytes;
  static constexpr int kQueryBytes = Shape::kQueries * kPanelRowBytes;
  struct Step {
    int head, number;  // the tile of queries; number -1: there are no more
    int after;         // 1 + the tile of keys that adds before this one; 0: this one is the first
    Cells cells[Shape::kMaskRows][Shape::kMaskColumns];
  };
  /// The piece of d_query to which a warpgroup's sums are added, and the turn that they wait for.
  struct Goal {
    int piece;  // -1: there are no more
    int after;
  };

  unsigned char key[Shape::kPanels][kKeyBytes], value[Shape::kPanels][kKeyBytes];
  unsigned char query[Shape::kStages][Shape::kPanels][kQueryBytes];
  unsigned char d_out[Shape::kOutStages][Shape::kPanels][kQueryBytes];
  unsigned char scores[Shape::kScoreTiles][Shape::kMaskColumns][kKeyBytes];  // rows are keys
  float d_query[Shape::kWarpgroups][kPieceFloats];
  float rows[Shape::kStages][Shape::kMaskColumns][2][kTile];
  Step steps[Shape::kStages];
  Goal goals[Shape::kWarpgroups];
  Barrier key_full, value_full;
  Barrier query_full[Shape::kStages], query_empty[Shape::kStages];
  Barrier d_out_full[Shape::kOutStages], d_out_empty[Shape::kOutStages];

  __device__ void init() {
    key_full.init(1), value_full.init(1);
    for (int i = 0; i < Shape::kStages; ++i) {
      query_full[i].init(1), query_empty[i].init(4 * Shape::kWarpgroups);  // each warp
    }
    for (int i = 0; i < Shape::kOutStages; ++i) {
      d_out_full[i].init(1), d_out_empty[i].init(4 * Shape::kWarpgroups);
    }
    fence_barriers();
  }
};

/// Named barriers, from 1 on: 0 is that of the whole block.
enum BackwardBarrier : int {
  kScoresThere = 1,
  kScoresTaken,
  kSumsOfFirstThere,
  kSumsOfFirstTaken = kSumsOfFirstThere + 2,
};

}  // namespace maskctl::attention::cuda::hopper
