// Gradients of softmax attention on Hopper GPUs: blocks draw tiles of keys, and walk the tiles of
// queries that the mask opens for each.
//
// For every tile of queries two warpgroups make the transposed weights and the gradients of the
// scores, and from these their shares of d_value, d_key and d_query. Up to 128 columns each of them
// has 64 keys, and its weights stay in registers; only the gradients of the scores go through
// shared memory, for d_query. Rows of 256 columns leave room for sums of 64 keys: there each has
// half of the queries of the scores and half of the columns of the sums, and the weights go through
// shared memory too. d_query is made in pieces of 64 x 64, which other warps add to f32 memory; one
// thread brings queries and d_out ahead of time.
#pragma once

#include "maskctl/attention/cuda/hopper/async.cuh"
#include "maskctl/attention/cuda/hopper/mask_walk.cuh"
#include "maskctl/attention/cuda/softmax/kernels.h"
#include "maskctl/attention/cuda/softmax/tile.cuh"

namespace maskctl::attention::cuda::hopper {

inline constexpr float kLog2E = 1.4426950408889634f;

/// What a block makes, for arrays whose rows of either width fit `kWidth`.
template <class T, int kWidth, bool kGeneral>
struct BackwardShape {
  using Element = T;
  static constexpr int kDim = kWidth, kPanels = kDim / kPanel;
  /// Bias, soft cap or dropout: each weight is made from its place.
  static constexpr bool kIsGeneral = kGeneral;
  static constexpr bool kIsWide = kDim > 128;  // warpgroups have the same keys
  static constexpr int kWarpgroups = 2, kThreads = 128 * (1 + kWarpgroups);
  static constexpr int kKeys = kIsWide ? 64 : 128, kQueries = kDim == 64 ? 128 : 64;
  static constexpr int kMaskRows = kKeys / kTile, kMaskColumns = kQueries / kTile;
  // Of one warpgroup:
  static constexpr int kScoreQueries = kIsWide ? 32 : kQueries;
  static constexpr int kSumColumns = kIsWide ? kDim / 2 : kDim;
  static constexpr int kPieces = kIsWide ? 2 : 1;  // of d_query
  // Tiles in shared memory:
  static constexpr int kStages = 2, kOutStages = kIsWide ? 1 : 2;
  static constexpr int kFew = 40, kMany = 232;  // registers
};

/// Queries and keys of a tile of the kernel.
struct BackwardTiles {
  int queries, keys;
};
constexpr BackwardTiles backward_tiles(int width) {
  const auto of = []<class Shape>(Shape) { return BackwardTiles{Shape::kQueries, Shape::kKeys}; };
  return width == 64    ? of(BackwardShape<__half, 64, false>())
         : width == 128 ? of(BackwardShape<__half, 128, false>())
                        : of(BackwardShape<__half, 256, false>());
}

/// The width of the kernel for a call.
inline int width_of(const Dims& d) {
  const Index columns = std::max(d.dim, d.value_dim);
  return columns <= 64 ? 64 : columns <= 128 ? 128 : 256;
}
/// Key heads whose queries, d_out and d_query fit half of the L2 cache, with which a run of blocks
/// is busy.
inline int heads_at_a_time(const Dims& d, int width) {
  constexpr Index kCacheBytes = 32 << 20;
  const Index bytes = d.group() * d.queries * width * (2 + 2 + 4);
  return static_cast<int>(std::clamp<Index>(kCacheBytes / bytes, 1, d.batch * d.kv_heads));
}

/// A piece is 64 x 64 sums in the order of their fragments: element i of thread t is number
/// (i / 4 * 128 + t) * 4 + i % 4.
inline constexpr int kPieceFloats = 64 * 64, kPieceBytes = kPieceFloats * 4;

/// Which tile of keys of which key head.
struct KeyTile {
  int batch, kv_head, number;
};

struct BackwardCall {
  BackwardParams b;
  CUtensorMap query, key, value, d_out;
  /// [B,Hq,query_tiles,2,64]: lse / ln 2, infinite for rows that have no key or do not exist, and
  /// delta.
  const float* rows;
  float* d_query;  // pieces [B,Hq,query_tiles,kPanels]
  /// Of each piece 1 + the tile of keys that was added last; null: tiles are added in any order.
  int* turns;
  int query_tiles;       // of 64, rounded up to whole tiles of the kernel
  int key_tiles;         // of all heads
  int* drawn;            // how many of these blocks have drawn
  const KeyTile* order;  // in which they are; null: by heads_at_a_time, lower ones first
  int heads_at_a_time;   // key heads whose queries share the L2 cache
  int blocks;
  const float* mean_shares;
  void *d_key, *d_value;  // of the kernel's element
};

/// Shared memory of a block.
template <class Shape>
struct BackwardMemory {
  static constexpr int kKeyBytes = Shape::kKeys * kPanelRowBytes;
  static constexpr int kQueryBytes = Shape::kQueries * kPanelRowBytes;
  struct Step {
    bool is_first;     // of its tile of keys
    KeyTile tile;      // where it is; the number is -1 where there are no more tiles
    int head, number;  // of the tile of queries; the number is -1 where the tile of keys has none
    int after;         // 1 + the tile of keys whose turn is before, 0: it is the first
    Cells cells[Shape::kMaskRows][Shape::kMaskColumns];
  };
  /// Where the sums in d_query go.
  struct Goal {
    int piece;  // -1: there are no more
    int after, turn;
  };

  unsigned char key[Shape::kPanels][kKeyBytes], value[Shape::kPanels][kKeyBytes];
  unsigned char query[Shape::kStages][Shape::kPanels][kQueryBytes];
  unsigned char d_out[Shape::kOutStages][Shape::kPanels][kQueryBytes];
  /// Gradients of scores; rows are keys. Two tiles take turns, or, where kIsWide, the second has
  /// the weights.
  unsigned char scores[2][Shape::kMaskColumns][kKeyBytes];
  float d_query[Shape::kWarpgroups][kPieceFloats];
  float rows[Shape::kStages][Shape::kMaskColumns][2][kTile];
  Step steps[Shape::kStages];
  Goal goals[Shape::kWarpgroups];
  Barrier key_full, value_full, keys_empty;
  Barrier query_full[Shape::kStages], query_empty[Shape::kStages];
  Barrier d_out_full[Shape::kOutStages], d_out_empty[Shape::kOutStages];

  __device__ void init() {
    key_full.init(1), value_full.init(1), keys_empty.init(Shape::kWarpgroups);
    for (int i = 0; i < Shape::kStages; ++i) {
      query_full[i].init(1), query_empty[i].init(Shape::kWarpgroups);
    }
    for (int i = 0; i < Shape::kOutStages; ++i) {
      d_out_full[i].init(1), d_out_empty[i].init(Shape::kWarpgroups);
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

/// The nth tile of keys. Where tiles take turns, lower ones of a head come before: who waits for a
/// turn waits for blocks that have begun.
template <class Shape>
__device__ KeyTile key_tile(const BackwardCall& c, int nth) {
  if (c.order) return c.order[nth];
  const Dims& d = c.b.p.d;
  const int heads = static_cast<int>(d.batch * d.kv_heads);
  const int tiles = static_cast<int>(ceil_div(d.keys, Shape::kKeys));
  const int section = nth / (c.heads_at_a_time * tiles);
  const int first = section * c.heads_at_a_time, n = nth - first * tiles;
  const int together = min(c.heads_at_a_time, heads - first);
  const int head = first + n % together;
  return {head / static_cast<int>(d.kv_heads), head % static_cast<int>(d.kv_heads), n / together};
}

// ---------------------------------------------------------------------------------- the producer

__device__ inline void load_floats(float* to, const float* from, int bytes, Barrier& done) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(shared_address(to)),
      "l"(from), "r"(bytes), "r"(done.address())
      : "memory");
}

/// The last tile of 64 before tile `end` of a tile row that is not empty; -1: there is none.
__device__ inline int last_before(const TileTableView& table, int tile_row, int end) {
  const int first = static_cast<int>(table.row_begins[tile_row]);
  int low = first, high = static_cast<int>(table.row_ends[tile_row]);
  while (low < high) {  // runs below low begin before the end
    const int middle = (low + high) / 2;
    if (table.runs[middle].first < end) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == first) return -1;
  const TileRun run = table.runs[low - 1];
  return min(run.first + run.count, end) - 1;
}

/// One thread, which brings what the consumers read.
template <class Shape>
class BackwardProducer {
  using Memory = BackwardMemory<Shape>;

 public:
  __device__ BackwardProducer(const BackwardCall& call, Memory& memory) : c(call), s(memory) {}

  __device__ void run() {
    for (;;) {
      const int nth = atomicAdd(c.drawn, 1);
      if (nth >= c.key_tiles) break;
      tile_ = key_tile<Shape>(c, nth);
      is_first_ = true;
      walk();
      if (is_first_) announce();
    }
    tile_.number = -1, is_first_ = true;
    announce();
  }

 private:
  using Tile = WideTile<Shape::kMaskRows, Shape::kMaskColumns>;

  __device__ void walk() {
    const Dims& d = c.b.p.d;
    const int group = static_cast<int>(d.q_heads / d.kv_heads);
    for (int head = tile_.kv_head * group; head < (tile_.kv_head + 1) * group; ++head) {
      WideWalk<Shape::kMaskRows, Shape::kMaskColumns> walk(
          table_of(c.b.p.by_key, tile_.batch, head), tile_.number, d.keys);
      while (!walk.is_at_end()) bring(head, walk.next());
    }
  }
  /// Tells that a tile of keys has no queries, or that there are no more.
  __device__ void announce() {
    typename Memory::Step& step = next_step();
    step.number = -1;
    s.query_full[at_.slot].arrive();
    at_.next();
  }
  __device__ typename Memory::Step& next_step() {
    s.query_empty[at_.slot].wait(at_.parity ^ 1);
    typename Memory::Step& step = s.steps[at_.slot];
    step.is_first = is_first_, step.tile = tile_;
    return step;
  }

  __device__ void bring(int head, const Tile& tile) {
    const Corner corner{0, tile.number * Shape::kQueries, head, tile_.batch};
    typename Memory::Step& step = next_step();
    step.head = head, step.number = tile.number;
    step.after = c.turns ? tile_before(head, tile.number) : 0;
    for (int i = 0; i < Shape::kMaskRows; ++i) {
      for (int j = 0; j < Shape::kMaskColumns; ++j) step.cells[i][j] = tile.cells[i][j];
    }
    constexpr int kRowBytes = Shape::kMaskColumns * 2 * kTile * 4;
    load<Memory::kQueryBytes>(s.query[at_.slot], c.query, corner, s.query_full[at_.slot], kRowBytes,
                              kEvictLast);
    const Index first = (Index{tile_.batch} * c.b.p.d.q_heads + head) * c.query_tiles +
                        tile.number * Shape::kMaskColumns;
    load_floats(s.rows[at_.slot][0][0], c.rows + first * 2 * kTile, kRowBytes,
                s.query_full[at_.slot]);
    if (is_first_) load_keys();
    is_first_ = false;
    s.d_out_empty[at_out_.slot].wait(at_out_.parity ^ 1);
    load<Memory::kQueryBytes>(s.d_out[at_out_.slot], c.d_out, corner, s.d_out_full[at_out_.slot], 0,
                              kEvictLast);
    at_.next(), at_out_.next();
  }
  __device__ void load_keys() {
    const Corner corner{0, tile_.number * Shape::kKeys, tile_.kv_head, tile_.batch};
    s.keys_empty.wait(at_keys_.parity ^ 1);
    load<Memory::kKeyBytes>(s.key, c.key, corner, s.key_full, 0, kEvictFirst);
    load<Memory::kKeyBytes>(s.value, c.value, corner, s.value_full, 0, kEvictFirst);
    at_keys_.next();
  }
  /// 1 + the tile of keys before this one that adds to the same queries; 0: there is none.
  __device__ int tile_before(int head, int number) const {
    const TileTableView& table = table_of(c.b.p.by_query, tile_.batch, head);
    const int rows = static_cast<int>(ceil_div(c.b.p.d.queries, kTile));
    int last = -1;
    for (int i = 0; i < Shape::kMaskColumns; ++i) {
      const int row = number * Shape::kMaskColumns + i;
      if (row < rows) last = max(last, last_before(table, row, tile_.number * Shape::kMaskRows));
    }
    return last < 0 ? 0 : last / Shape::kMaskRows + 1;
  }
  /// All panels of a tile; `more`: bytes that will come from elsewhere.
  template <int kBytes>
  __device__ void load(unsigned char (&to)[Shape::kPanels][kBytes], const CUtensorMap& map,
                       Corner corner, Barrier& full, int more, std::uint64_t policy) {
    full.arrive_expecting(Shape::kPanels * kBytes + more);
    for (int i = 0; i < Shape::kPanels; ++i) {
      corner.column = i * kPanel;
      load_box(to[i], map, corner, full, policy);
    }
  }

  const BackwardCall& c;
  Memory& s;
  KeyTile tile_{};
  bool is_first_ = true;  // whether the next step begins the tile
  Turn<Shape::kStages> at_;
  Turn<Shape::kOutStages> at_out_;
  Turn<1> at_keys_;
};

// ---------------------------------------------------------------------------- who adds to d_query

/// A warp that adds the sums of one warpgroup.
template <class Shape>
class BackwardAdder {
  using Memory = BackwardMemory<Shape>;

 public:
  __device__ BackwardAdder(const BackwardCall& call, Memory& memory, int group)
      : c(call), s(memory), group_(group) {}

  __device__ void run() {
    const bool is_first = threadIdx.x % 32 == 0;
    for (;;) {
      arrive(kSumsOfFirstTaken + group_, 128 + 32);
      if (is_first && last_.turn > 0) pass_turn();
      __syncwarp();
      sync(kSumsOfFirstThere + group_, 128 + 32);
      const typename Memory::Goal goal = s.goals[group_];
      if (goal.piece < 0) return;
      if (is_first) add(goal);
      __syncwarp();
    }
  }

 private:
  __device__ void add(const typename Memory::Goal& goal) {
    if (c.turns) wait_for_turn(goal);
    add_floats(c.d_query + Index{goal.piece} * kPieceFloats, s.d_query[group_], kPieceBytes);
    commit_stores();
    wait_for_stores<0>();
    if (c.turns) last_ = goal;
  }
  /// Once the sums are in memory.
  __device__ void pass_turn() {
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    asm volatile("fence.proxy.async.global;" ::: "memory");
    asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(c.turns + last_.piece), "r"(last_.turn)
                 : "memory");
  }
  /// Until the previous tile of keys that adds to the piece has done so. Nothing but sums in the L2
  /// cache depends on it, so that what this block has cached stays valid: relaxed.
  __device__ void wait_for_turn(const typename Memory::Goal& goal) {
    int turn;
    do {
      asm volatile("ld.relaxed.gpu.global.s32 %0, [%1];"
                   : "=r"(turn)
                   : "l"(c.turns + goal.piece)
                   : "memory");
    } while (turn != goal.after);
    asm volatile("fence.proxy.async.global;" ::: "memory");
  }

  const BackwardCall& c;
  Memory& s;
  const int group_;
  typename Memory::Goal last_{};  // in a call whose tiles take turns
};

// --------------------------------------------------------------------------------- the consumers

__device__ inline float exp2_approximate(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// Keeps what follows from an address out of registers until it is used.
__device__ inline std::uint32_t made_here(std::uint32_t address) {
  asm volatile("" : "+r"(address));
  return address;
}

/// Four matrices of 8 x 8, a pair of each lane's registers from each; lane l gives the address of
/// row l % 8 of matrix l / 8.
__device__ inline void store_matrices(std::uint32_t address, const std::uint32_t* x) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
               "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3])
               : "memory");
}

/// Writes 64 x 64 sums times `factor`, of which the thread of a warpgroup has the fragment x, to an
/// array of `rows` rows from `to` on; `columns` of a row exist, a multiple of 8.
template <class T>
__device__ __forceinline__ void store_piece(const float* x, float factor, T* to, Index stride,
                                            int rows, int columns) {
  const int lane = static_cast<int>(threadIdx.x) % 32, quad = lane % 4;
#pragma unroll
  for (int side = 0; side < 2; ++side) {
    const int row = static_cast<int>(threadIdx.x) % 128 / 32 * 16 + lane / 4 + 8 * side;
#pragma unroll
    for (int i = 0; i < 32; i += 16) {
      std::uint32_t pairs[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const float* const pair = x + i + 4 * j + 2 * side;
        pairs[j] = rounded_pair<T>(pair[0] * factor, pair[1] * factor);
      }
      // Of four times 8 columns each lane of four gets one.
#pragma unroll
      for (int bit = 1; bit < 4; bit *= 2) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          if ((j & bit) != 0) continue;
          const bool is_upper = (quad & bit) != 0;
          const std::uint32_t got = __shfl_xor_sync(~0u, is_upper ? pairs[j] : pairs[j + bit], bit);
          (is_upper ? pairs[j] : pairs[j + bit]) = got;
        }
      }
      const int column = 2 * i + 8 * quad;
      if (row < rows && column < columns) {
        *reinterpret_cast<uint4*>(to + row * stride + column) =
            make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
      }
    }
  }
}

/// A warpgroup. Of its 64 keys a thread has `row_` and `row_` + 8.
template <class Shape>
class BackwardConsumer {
  using T = typename Shape::Element;
  using Memory = BackwardMemory<Shape>;
  static constexpr int kKeys = Shape::kKeys, kQueries = Shape::kQueries;
  static constexpr int kScores = Shape::kScoreQueries / 2;  // of a thread
  static constexpr int kSums = Shape::kSumColumns / 2;
  static constexpr int kSumPanels = Shape::kSumColumns / kPanel;
  static constexpr bool kIsWide = Shape::kIsWide;

 public:
  __device__ BackwardConsumer(const BackwardCall& call, Memory& memory)
      : c(call),
        s(memory),
        group_(__shfl_sync(~0u, static_cast<int>(threadIdx.x) / 128 - 1, 0)),
        thread_(static_cast<int>(threadIdx.x) % 128),
        row_(thread_ / 32 * 16 + thread_ % 32 / 4),
        key_tile_(kIsWide ? 0 : group_),
        first_query_(kIsWide ? group_ * Shape::kScoreQueries : 0),
        first_panel_(kIsWide ? group_ * kSumPanels : 0) {}

  __device__ __forceinline__ void run() {
    for (;;) {
      s.query_full[at_.slot].wait(at_.parity);
      step_ = &s.steps[at_.slot];
      if (__any_sync(~0u, step_->is_first)) {
        if (tile_.number >= 0) finish();
        tile_ = step_->tile;
        if (tile_.number < 0) break;
        begin();
      }
      if (__any_sync(~0u, step_->number < 0)) {
        sync(kScoresThere, 128 * Shape::kWarpgroups);
        release(s.query_empty[at_.slot]);
      } else {
        if (!Shape::kIsGeneral && is_full()) {
          step<false>();
        } else {
          step<true>();
        }
        at_out_.next();
      }
      at_.next();
    }
    sync(kSumsOfFirstTaken + group_, 128 + 32);
    if (thread_ == 0) s.goals[group_].piece = -1;
    arrive(kSumsOfFirstThere + group_, 128 + 32);
  }

 private:
  using Words = std::uint32_t[Shape::kMaskColumns][2];  // own_columns of the thread's rows
  using Scores = float[kScores];
  using Rounded = std::uint32_t[kScores / 2];
  using Sums = float[kSums];
  using Pieces = float[32 * Shape::kPieces];
  using KeyPanels = unsigned char[Shape::kPanels][Memory::kKeyBytes];
  using QueryPanels = unsigned char[Shape::kPanels][Memory::kQueryBytes];

  /// A tile of keys.
  __device__ __forceinline__ void begin() {
#pragma unroll
    for (int i = 0; i < kSums; ++i) d_key_[i] = d_value_[i] = 0;
    keys_left_ = static_cast<int>(c.b.p.d.keys) - tile_.number * kKeys - key_tile_ * 64;
    has_keys_ = step_->number >= 0;
    if (!has_keys_) return;
    s.key_full.wait(at_keys_.parity);
    s.value_full.wait(at_keys_.parity);
    at_keys_.next();
    clear_unseen();
  }

  template <bool kMasked>
  __device__ __forceinline__ void step() {
    Scores scores, d_scores;
    Rounded weights, rounded;
    Pieces d_query;
    multiply(scores, s.key, s.query[at_.slot]);
    s.d_out_full[at_out_.slot].wait(at_out_.parity);
    multiply(d_scores, s.value, s.d_out[at_out_.slot]);
    Words words;
    if constexpr (kMasked) read_tile(words);
    if constexpr (Shape::kIsGeneral) {
      wgmma_wait<0>();
      pin(scores), pin(d_scores);
      differentiate_generally(scores, d_scores, words);
    } else {
      wgmma_wait<1>();
      pin(scores);
      weigh(scores);
      if constexpr (kMasked) close(scores, words);
      if constexpr (!kMasked) need_now(scores);
      wgmma_wait<0>();
      pin(d_scores);
      differentiate(scores, d_scores);
    }
    round(scores, weights);
    round(d_scores, rounded);
    if constexpr (kIsWide) {
      sync(kScoresTaken, 128 * Shape::kWarpgroups);
      share(weights, s.scores[1][0]);
    }
    share(rounded, d_scores_at()[0]);
    if constexpr (!kIsWide) accumulate(d_value_, weights, s.d_out[at_out_.slot]);
    fence_shared_writes();
    sync(kScoresThere, 128 * Shape::kWarpgroups);
    if constexpr (kIsWide) accumulate(d_value_, s.scores[1][0], s.d_out[at_out_.slot]);
    multiply_scores(d_query);
    wgmma_wait<1>();
    pin(d_value_);
    release(s.d_out_empty[at_out_.slot]);
    if constexpr (kIsWide) {
      accumulate(d_key_, d_scores_at()[0], s.query[at_.slot]);
    } else {
      accumulate(d_key_, rounded, s.query[at_.slot]);
    }
    wgmma_wait<1>();
    pin(d_query);
    hand_over(d_query);
    wgmma_wait<0>();
    pin(d_key_);
    release(s.query_empty[at_.slot]);
  }

  __device__ __forceinline__ void release(Barrier& empty) {
    if (thread_ == 0) empty.arrive();
  }

  /// The group's keys times its queries: transposed scores.
  __device__ __forceinline__ void multiply(Scores& to, const KeyPanels& keys,
                                           const QueryPanels& queries) {
    const std::uint32_t a = shared_address(keys) + key_tile_ * 64 * kPanelRowBytes;
    const std::uint32_t b = shared_address(queries) + first_query_ * kPanelRowBytes;
    pin(to);
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < Shape::kDim / 16; ++i) {
      const int panel = i / 4, inside = i % 4 * 32;
      wgmma<T, Shape::kScoreQueries, 0, 0>(to, k_major(a + panel * Memory::kKeyBytes + inside),
                                           k_major(b + panel * Memory::kQueryBytes + inside),
                                           i > 0);
    }
    wgmma_commit();
  }
  /// sums += a of [64 keys x queries] times the group's columns of a tile of queries. `a` is in
  /// registers, or a panel.
  template <class A>
  __device__ __forceinline__ void accumulate(Sums& sums, const A& a, const QueryPanels& queries) {
    const std::uint32_t b = shared_address(queries) + first_panel_ * Memory::kQueryBytes;
    pin(sums);
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < kQueries / 16; ++i) {
      const std::uint64_t rows = transposed(b + i * 16 * kPanelRowBytes, Memory::kQueryBytes);
      if constexpr (kIsWide) {
        wgmma<T, Shape::kSumColumns, 0, 1>(sums, k_major(shared_address(a) + i * 32), rows, 1);
      } else {
        wgmma<T, Shape::kSumColumns, 1>(sums, a + 4 * i, rows, 1);
      }
    }
    wgmma_commit();
  }
  /// The group's pieces of d_query: half of the queries, or half of the columns.
  __device__ __forceinline__ void multiply_scores(Pieces& d_query) {
    const std::uint32_t a = shared_address(d_scores_at()[group_ % Shape::kMaskColumns]);
    const std::uint32_t b = shared_address(s.key[piece_panel()]);
    pin(d_query);
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < kKeys / 16; ++i) {
      wgmma<T, 64 * Shape::kPieces, 1, 1>(
          d_query, transposed(a + i * 16 * kPanelRowBytes, Memory::kKeyBytes),
          transposed(b + i * 16 * kPanelRowBytes, Memory::kKeyBytes), i > 0);
    }
    wgmma_commit();
  }
  __device__ __forceinline__ auto& d_scores_at() const { return s.scores[kIsWide ? 0 : at_.slot]; }
  /// The first panel of the group's pieces.
  __device__ __forceinline__ int piece_panel() const {
    return kIsWide ? first_panel_ : group_ % Shape::kPanels;
  }

  /// Whether the tile at hand opens all cells.
  __device__ __forceinline__ bool is_full() const {
    bool full = keys_left_ >= 64;
#pragma unroll
    for (int i = 0; i < Shape::kMaskColumns; ++i) full &= step_->cells[key_tile_][i] == kAllCells;
    return __all_sync(~0u, full);
  }
  /// What it opens in the thread's rows.
  __device__ __forceinline__ void read_tile(Words& words) const {
    const TileTableView& table = table_of(c.b.p.by_key, tile_.batch, step_->head);
#pragma unroll
    for (int i = 0; i < Shape::kMaskColumns; ++i) {
#pragma unroll
      for (int side = 0; side < 2; ++side) {
        const int row = row_ + 8 * side;
        const std::uint64_t open =
            row < keys_left_ ? open_word(table, step_->cells[key_tile_][i], row) : 0;
        words[i][side] = own_columns(open >> first_query_);
      }
    }
  }

  /// The lse, or the delta, of the queries of elements 4 i and 4 i + 1 of a fragment.
  __device__ __forceinline__ float2 row_values(int which, int i) const {
    return *reinterpret_cast<const float2*>(
        &s.rows[at_.slot][i / 8][which][first_query_ + i % 8 * 8 + thread_ % 4 * 2]);
  }

  __device__ __forceinline__ void weigh(Scores& scores) const {
    const float to_exponent = c.b.p.scale * kLog2E;
#pragma unroll
    for (int i = 0; i < kScores / 4; ++i) {
      const float2 lse = row_values(0, i);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        float& x = scores[4 * i + j];
        x = exp2_approximate(fmaf(x, to_exponent, j % 2 == 0 ? -lse.x : -lse.y));
      }
    }
  }
  __device__ __forceinline__ void close(Scores& weights, const Words& words) const {
#pragma unroll
    for (int i = 0; i < kScores; ++i) {
      if (!is_open(words, i)) weights[i] = 0;
    }
  }
  __device__ static __forceinline__ bool is_open(const Words& words, int i) {
    return hopper::is_open(words[i / 32][i / 2 % 2], i % 32);
  }
  /// Gradients of the weights become those of the scores.
  __device__ __forceinline__ void differentiate(const Scores& weights, Scores& d_scores) const {
#pragma unroll
    for (int i = 0; i < kScores / 4; ++i) {
      const float2 delta = row_values(1, i);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        float& x = d_scores[4 * i + j];
        x = weights[4 * i + j] * (x - (j % 2 == 0 ? delta.x : delta.y));
      }
    }
  }
  /// Both, where each weight depends on its place.
  __device__ __forceinline__ void differentiate_generally(Scores& scores, Scores& d_scores,
                                                          const Words& words) const {
    const SoftmaxParams& p = c.b.p;
    const int head = step_->head;
#pragma unroll
    for (int i = 0; i < kScores; ++i) {
      const int column = first_query_ + i / 4 * 8 + thread_ % 4 * 2 + i % 2, side = i / 2 % 2;
      const Index query = Index{step_->number} * kQueries + column;
      const Index key = Index{tile_.number} * kKeys + key_tile_ * 64 + row_ + 8 * side;
      float weight = 0, kept = 0, slope = 1, multiplied = 1;
      if (query < p.d.queries && is_open(words, i)) {
        const float s = logit(p, tile_.batch, head, query, key, scores[i], slope);
        const float2 lse = row_values(0, i / 4);
        weight = exp2_approximate(s * kLog2E - (i % 2 == 0 ? lse.x : lse.y));
        multiplied = multiplier(p, tile_.batch, head, query, key);
        kept = weight * multiplied;
      }
      const float2 delta = row_values(1, i / 4);
      d_scores[i] = weight * slope * (multiplied * d_scores[i] - (i % 2 == 0 ? delta.x : delta.y));
      scores[i] = kept;
    }
  }
  __device__ __forceinline__ void round(const Scores& x, Rounded& pairs) const {
#pragma unroll
    for (int i = 0; i < kScores / 2; ++i) pairs[i] = rounded_pair<T>(x[2 * i], x[2 * i + 1]);
  }

  /// Keeps the compiler from making weights only after a wait for products that follows: a branch
  /// that is never taken, since no weight is negative, depends on all of them.
  __device__ static __forceinline__ void need_now(const Scores& weights) {
    std::uint32_t all = 0;
#pragma unroll
    for (int i = 0; i < kScores; ++i) all |= __float_as_uint(weights[i]);
    if (static_cast<std::int32_t>(all) < 0) __nanosleep(1);
  }

  /// Puts what the group has of [keys x queries] where both groups read it.
  __device__ __forceinline__ void share(const Rounded& x, unsigned char* panels) const {
    const int lane = thread_ % 32, matrix = lane / 8;
    const int row = key_tile_ * 64 + thread_ / 32 * 16 + matrix % 2 * 8 + lane % 8;
    // Panels are aligned: the 16 bytes of other columns are found by turning bits of the address.
    const std::uint32_t begin =
        made_here(shared_address(panels) + swizzled(row, first_query_ + matrix / 2 * 8));
#pragma unroll
    for (int i = 0; i < kScores / 8; ++i) {
      store_matrices((begin ^ i % 4 * 32) + i / 4 * Memory::kKeyBytes, x + 4 * i);
    }
  }
  /// Gives the group's pieces of d_query to the adder.
  __device__ __forceinline__ void hand_over(const Pieces& d_query) {
#pragma unroll
    for (int piece = 0; piece < Shape::kPieces; ++piece) {
      sync(kSumsOfFirstTaken + group_, 128 + 32);
      auto* const to = reinterpret_cast<float4*>(s.d_query[group_]) + thread_;
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const float* const x = d_query + 32 * piece + 4 * i;
        to[128 * i] = make_float4(x[0], x[1], x[2], x[3]);
      }
      if (thread_ == 0) {
        const int row = tile_.batch * static_cast<int>(c.b.p.d.q_heads) + step_->head;
        const int tile = step_->number * Shape::kMaskColumns + group_ % Shape::kMaskColumns;
        s.goals[group_] = {(row * c.query_tiles + tile) * Shape::kPanels + piece_panel() + piece,
                           step_->after, tile_.number + 1};
      }
      fence_shared_writes();
      arrive(kSumsOfFirstThere + group_, 128 + 32);
    }
  }

  /// Sets keys and values that no query of the group of heads sees to zero: 0 times what they hold
  /// could be NaN.
  __device__ __forceinline__ void clear_unseen() {
    constexpr int kThreadsOfKey = kIsWide ? 4 : 2;
    const int key = thread_ % 64, first = (kIsWide ? 2 * group_ : 0) + thread_ / 64;
    if (key < keys_left_ && !is_seen(key)) {
      const int row = (key_tile_ * 64 + key) * kPanelRowBytes;
      for (int i = first; i < Shape::kPanels * 8; i += kThreadsOfKey) {
        *reinterpret_cast<uint4*>(s.key[i / 8] + row + i % 8 * 16) = make_uint4(0, 0, 0, 0);
        *reinterpret_cast<uint4*>(s.value[i / 8] + row + i % 8 * 16) = make_uint4(0, 0, 0, 0);
      }
    }
    fence_shared_writes();
    sync(kScoresThere, 128 * Shape::kWarpgroups);
  }
  __device__ bool is_seen(int key) const {
    const Dims& d = c.b.p.d;
    const int group = static_cast<int>(d.q_heads / d.kv_heads);
    const TileTableView* previous = nullptr;
    for (int head = tile_.kv_head * group; head < (tile_.kv_head + 1) * group; ++head) {
      const TileTableView& table = table_of(c.b.p.by_key, tile_.batch, head);
      if (&table == previous) continue;
      previous = &table;
      TileRowWalk walk(table, Index{tile_.number} * Shape::kMaskRows + key_tile_,
                       ceil_div(d.keys, kTile));
      while (walk.next() != TileRowWalk::kNone) {
        const Cells cells = walk.take(table, walk.next());
        if (cells == kAllCells || open_word(table, cells, key) != 0) return true;
      }
    }
    return false;
  }

  /// Writes d_key and d_value.
  __device__ __forceinline__ void finish() {
    if (has_keys_) release(s.keys_empty);
    const Dims& d = c.b.p.d;
    const Index first =
        (tile_.batch * d.keys + tile_.number * kKeys + key_tile_ * 64) * d.kv_heads + tile_.kv_head;
    const float* const shares =
        c.mean_shares ? c.mean_shares + (tile_.batch * d.kv_heads + tile_.kv_head) * d.value_dim
                      : nullptr;
#pragma unroll
    for (int i = 0; i < kSums; ++i) {
      const int column = first_panel_ * kPanel + i / 4 * 8 + thread_ % 4 * 2 + i % 2;
      if (shares && column < d.value_dim) d_value_[i] += shares[column];
    }
#pragma unroll
    for (int panel = 0; panel < kSumPanels; ++panel) {
      const int column = (first_panel_ + panel) * kPanel;
      store_piece(d_key_ + 32 * panel, c.b.p.scale,
                  static_cast<T*>(c.d_key) + first * d.dim + column, d.kv_heads * d.dim, keys_left_,
                  static_cast<int>(d.dim) - column);
      store_piece(d_value_ + 32 * panel, 1,
                  static_cast<T*>(c.d_value) + first * d.value_dim + column,
                  d.kv_heads * d.value_dim, keys_left_, static_cast<int>(d.value_dim) - column);
    }
  }

  const BackwardCall& c;
  Memory& s;
  const int group_, thread_, row_;
  const int key_tile_, first_query_, first_panel_;  // of what the group has
  KeyTile tile_{0, 0, -1};
  bool has_keys_ = false;  // whether its keys are in shared memory
  int keys_left_ = 0;      // from the group's first key on
  Turn<Shape::kStages> at_;
  Turn<Shape::kOutStages> at_out_;
  Turn<1> at_keys_;
  const typename Memory::Step* step_ = nullptr;
  Sums d_key_, d_value_;
};

template <class Shape>
__global__ void __launch_bounds__(Shape::kThreads, 1)
    backward_kernel(const __grid_constant__ BackwardCall call) {
  using Memory = BackwardMemory<Shape>;
  const std::uint32_t begin = shared_address(dynamic_shared());
  Memory& memory = *reinterpret_cast<Memory*>(
      dynamic_shared() + ((begin + kAtomBytes - 1) / kAtomBytes * kAtomBytes - begin));
  if (threadIdx.x == 0) memory.init();
  __syncthreads();
  if (threadIdx.x < 128) {
    give_registers<Shape::kFew>();
    const int warp = static_cast<int>(threadIdx.x) / 32;
    if (warp == 0) {
      if (threadIdx.x == 0) BackwardProducer<Shape>(call, memory).run();
    } else if (warp <= Shape::kWarpgroups) {
      BackwardAdder<Shape>(call, memory, warp - 1).run();
    }
  } else {
    take_registers<Shape::kMany>();
    BackwardConsumer<Shape>(call, memory).run();
  }
}

// ------------------------------------------------------------------------------------ the launch

template <class F>
void with_16_bits(DType dtype, F&& f) {
  if (dtype == DType::kFloat16) return f(std::type_identity<__half>());
  f(std::type_identity<__nv_bfloat16>());
}

template <class Shape>
void launch_shape(const BackwardCall& call, Stream stream) {
  launch("softmax_backward: d_query, d_key, d_value", backward_kernel<Shape>,
         static_cast<unsigned>(call.blocks), Shape::kThreads,
         sizeof(BackwardMemory<Shape>) + kAtomBytes, stream, call);
}
template <int kWidth>
void launch_kernel(const BackwardCall& call, Stream stream) {
  const SoftmaxParams& p = call.b.p;
  const bool is_general = p.bias.data || p.soft_cap != 0 || p.dropout != 0;
  with_16_bits(p.query.dtype, [&]<class T>(std::type_identity<T>) {
    (is_general ? launch_shape<BackwardShape<T, kWidth, true>>
                : launch_shape<BackwardShape<T, kWidth, false>>)(call, stream);
  });
}

// launch_kernel of one width each, compiled apart.
void launch_64(const BackwardCall& call, Stream stream);
void launch_128(const BackwardCall& call, Stream stream);
void launch_256(const BackwardCall& call, Stream stream);

}  // namespace maskctl::attention::cuda::hopper
