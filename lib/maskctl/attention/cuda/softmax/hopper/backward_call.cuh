// One call of the backward kernel: tile sizes, arguments, and shared memory.
#pragma once

#include "maskctl/attention/cuda/gpus.h"
#include "maskctl/attention/cuda/hopper/async.cuh"
#include "maskctl/attention/cuda/hopper/kernel.cuh"
#include "maskctl/attention/cuda/hopper/piece.cuh"
#include "maskctl/attention/cuda/hopper/powers.cuh"
#include "maskctl/attention/cuda/softmax/hopper/key_order.h"
#include "maskctl/attention/cuda/softmax/hopper/mask_walk.cuh"
#include "maskctl/attention/cuda/softmax/params.h"

namespace maskctl::attention::cuda::hopper {

/// The sizes of what a block computes, for arrays whose rows have at most `kWidth` elements.
/// `kFine`: tiles of 64 x 64, for masks where most tiles next to an open tile are closed.
template <class T, int kWidth, bool kFine, bool kGeneral>
struct BackwardShape {
  using Element = T;
  static constexpr int kDim = kWidth, kPanels = kDim / kPanel;
  /// Whether there is a bias, a soft cap or dropout. Then weights do not depend on scores alone,
  /// but also on positions.
  static constexpr bool kIsGeneral = kGeneral;
  static constexpr bool kIsWide = kDim > 128;  // both warpgroups have the same keys
  static_assert(!(kIsWide && kFine));
  static constexpr int kBlocks = kFine ? 2 : 1;  // blocks per multiprocessor
  static constexpr int kWarpgroups = kFine ? 1 : 2, kThreads = 128 * (1 + kWarpgroups);
  static constexpr int kKeys = kIsWide ? 64 : 64 * kWarpgroups;
  static constexpr int kQueries = kDim == 64 && !kFine ? 128 : 64;
  static constexpr int kMaskRows = kKeys / kTile, kMaskColumns = kQueries / kTile;
  // The work of one warpgroup on a tile: for how many queries it computes scores, and for how many
  // columns sums.
  static constexpr int kScoreQueries = kIsWide ? 32 : kQueries;
  static constexpr int kSumColumns = kIsWide ? kDim / 2 : kDim;
  /// How many 64 x 64 pieces of d_query one warpgroup computes for a tile of queries.
  static constexpr int kPieces = kMaskColumns * kPanels / kWarpgroups;
  static constexpr int kPiecesAtOnce = kIsWide ? 2 : 1;
  // How many tiles of queries (kStages) and of d_out (kOutStages) fit into shared memory.
  static constexpr int kStages = 2, kOutStages = kIsWide || (kFine && kDim > 64) ? 1 : 2;
  /// Tiles in shared memory for the gradients of the scores. Two warpgroups write to the two tiles
  /// alternately, one tile of queries after the other, so that neither overwrites a tile which the
  /// other still reads. If kIsWide, the second tile holds the weights instead.
  static constexpr int kScoreTiles = kWarpgroups;
  /// Registers per thread of the first warpgroup, and of the others.
  static constexpr int kFew = kFine ? 32 : 56, kMany = 224;
};

/// How many queries and keys a tile of the kernel has, how many pieces of d_query a warpgroup
/// computes of it, and how many blocks a multiprocessor has.
struct BackwardTiles {
  int queries, keys, pieces, blocks;
};
constexpr BackwardTiles backward_tiles(int width, bool is_fine) {
  const auto of = []<class Shape>(Shape) {
    return BackwardTiles{Shape::kQueries, Shape::kKeys, Shape::kPieces, Shape::kBlocks};
  };
  if (is_fine) {
    return width == 64 ? of(BackwardShape<__half, 64, true, false>())
                       : of(BackwardShape<__half, 128, true, false>());
  }
  return width == 64    ? of(BackwardShape<__half, 64, false, false>())
         : width == 128 ? of(BackwardShape<__half, 128, false, false>())
                        : of(BackwardShape<__half, 256, false, false>());
}

/// The row width of the kernel for a call: 64, 128 or 256 elements.
inline int width_of(const Dims& d) {
  const Index columns = std::max(d.dim, d.value_dim);
  return columns <= 64 ? 64 : columns <= 128 ? 128 : 256;
}
/// How many key heads blocks work on at the same time: so many that the queries, d_out and d_query
/// of these heads together take at most shared_cache_bytes(), but at least one.
inline int heads_at_a_time(const Dims& d, int width) {
  const Index bytes = d.group() * d.queries * width * (2 + 2 + 4);
  return static_cast<int>(std::clamp<Index>(shared_cache_bytes() / bytes, 1, d.batch * d.kv_heads));
}

/// Whether the first block that has its turn at a piece of d_query stores its sums there instead of
/// adding them, so that the piece need not be zeroed. Not for head dimension 256: there are so many
/// pieces that the warpgroups would wait for the warps that add.
constexpr bool stores_first(int width) { return width <= 128; }

/// The arguments of the backward kernel.
struct BackwardCall {
  BackwardParams b;
  CUtensorMap query, key, value, d_out;
  /// [B,Hq,query_tiles,2,64]: for each query lse / ln 2 (+inf if the row has no key or does not
  /// exist), and for each query delta.
  const float* rows;
  /// d_query in f32, as pieces of 64 x 64: [B,Hq,query_tiles,kPanels]. It must be zero before the
  /// kernel starts, unless blocks take turns and stores_first() holds.
  float* d_query;
  /// For the pieces that a warpgroup computes of a tile of queries, at the number of the first: 1 +
  /// the number of the last tile of keys whose sums were added to them, 0 at first; if there are
  /// walks, how many blocks have added. null: blocks add in any order.
  int* turns;
  KeyWalksView walks;
  int query_tiles;       // tiles of 64 queries per head, rounded up to whole tiles of the kernel
  int group;             // query heads per key head
  const KeyPart* parts;  // the part of each block
  const KeyPart* split;  // those parts in `parts` whose tile of keys is shared by several blocks
  float* sums;           // sums of the parts in `split`, laid out as SumsOfPart says
  const float* mean_shares;
  void *d_key, *d_value;  // arrays of the kernel's element type
};

/// The shared memory of a block.
template <class Shape>
struct BackwardMemory {
  static constexpr int kKeyBytes = Shape::kKeys * kPanelRowBytes;
  static constexpr int kQueryBytes = Shape::kQueries * kPanelRowBytes;
  struct Step {
    int head, number;  // head and number of the tile of queries; number -1: no more tiles
    /// What BackwardCall::turns holds when it is this block's turn; 0: it is the first.
    int after;
    Cells cells[Shape::kMaskRows][Shape::kMaskColumns];
  };
  /// The piece of d_query to which a warpgroup's sums are added, and the turn to wait for.
  struct Goal {
    int piece;               // number of the piece; -1: there are no more
    int after;               // Step::after
    bool is_first, is_last;  // of the warpgroup's pieces of the tile, which have one turn
  };

  unsigned char key[Shape::kPanels][kKeyBytes], value[Shape::kPanels][kKeyBytes];
  unsigned char query[Shape::kStages][Shape::kPanels][kQueryBytes];
  unsigned char d_out[Shape::kOutStages][Shape::kPanels][kQueryBytes];
  /// rows are keys, columns are queries
  unsigned char scores[Shape::kScoreTiles][Shape::kMaskColumns][kKeyBytes];
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
      query_full[i].init(1), query_empty[i].init(4 * Shape::kWarpgroups);  // one arrival per warp
    }
    for (int i = 0; i < Shape::kOutStages; ++i) {
      d_out_full[i].init(1), d_out_empty[i].init(4 * Shape::kWarpgroups);
    }
    fence_barriers();
  }
};

/// Numbers of named barriers. 0 is the barrier of the whole block.
enum BackwardBarrier : int {
  kScoresThere = 1,
  kScoresTaken,
  kSumsOfFirstThere,
  kSumsOfFirstTaken = kSumsOfFirstThere + 2,
};

}  // namespace maskctl::attention::cuda::hopper
