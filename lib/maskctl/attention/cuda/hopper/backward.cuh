// Gradients of softmax attention on Hopper GPUs: a block owns a tile of keys and walks the tiles of
// queries that its mask opens.
//
// Two warpgroups have 64 keys each. For every tile of queries a warpgroup makes the transposed
// weights and their gradients in registers, where they are operands of the products for d_value and
// d_key; the gradients of the scores also go through shared memory, from which the two warpgroups
// make d_query together: 64 x 64 sums each, a piece, which a third adds to f32 memory. A producer
// warp brings queries and d_out two tiles ahead.
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
  static constexpr int kWarpgroups = 2, kThreads = 128 * (1 + kWarpgroups);
  static constexpr int kKeys = 64 * kWarpgroups;
  static constexpr int kQueries = kDim == 64 ? 128 : 64, kColumns = kQueries / kTile;
  static constexpr int kStages = 2;
  static constexpr int kFew = 40, kMany = 232;  // registers
};

/// Queries and keys of a tile of the kernel.
struct BackwardTiles {
  int queries, keys;
};
constexpr BackwardTiles backward_tiles(int width) {
  using Narrow = BackwardShape<__half, 64, false>;
  using Wide = BackwardShape<__half, 128, false>;
  return width == 64 ? BackwardTiles{Narrow::kQueries, Narrow::kKeys}
                     : BackwardTiles{Wide::kQueries, Wide::kKeys};
}

/// A piece is 64 x 64 sums in the order of their fragments: element i of thread t is number
/// (i / 4 * 128 + t) * 4 + i % 4.
inline constexpr int kPieceFloats = 64 * 64, kPieceBytes = kPieceFloats * 4;

struct BackwardCall {
  BackwardParams b;
  CUtensorMap query, key, value, d_out;
  /// [B,Hq,query_tiles,2,64]: lse / ln 2, infinite for rows that have no key or do not exist, and
  /// delta.
  const float* rows;
  float* d_query;  // pieces [B,Hq,query_tiles,kPanels]
  /// Of each piece 1 + the tile of keys that was added last; null: tiles are added in any order.
  int* turns;
  int query_tiles;        // of 64, rounded up to whole tiles of the kernel
  int heads_at_a_time;    // key heads whose queries share the L2 cache
  const float* mean_shares;
  void *d_key, *d_value;  // of the kernel's element
};

/// Shared memory of a block.
template <class Shape>
struct BackwardMemory {
  static constexpr int kKeyBytes = Shape::kKeys * kPanelRowBytes;
  static constexpr int kQueryBytes = Shape::kQueries * kPanelRowBytes;
  struct Step {
    int head, number;  // of the tile of queries; -1: there are no more
    Cells cells[Shape::kWarpgroups][Shape::kColumns];
  };
  /// Where the sums in d_query go.
  struct Goal {
    int head, number, piece;  // -1: there are no more
  };

  unsigned char key[Shape::kPanels][kKeyBytes], value[Shape::kPanels][kKeyBytes];
  unsigned char query[Shape::kStages][Shape::kPanels][kQueryBytes];
  unsigned char d_out[Shape::kStages][Shape::kPanels][kQueryBytes];
  unsigned char d_scores[Shape::kStages][Shape::kColumns][kKeyBytes];  // rows are keys
  float d_query[Shape::kWarpgroups][kPieceFloats];
  float rows[Shape::kStages][Shape::kColumns][2][kTile];
  Step steps[Shape::kStages];
  Goal goals[Shape::kWarpgroups];
  Barrier key_full, value_full;
  Barrier query_full[Shape::kStages], query_empty[Shape::kStages];
  Barrier d_out_full[Shape::kStages], d_out_empty[Shape::kStages];

  __device__ void init() {
    key_full.init(1), value_full.init(1);
    for (int i = 0; i < Shape::kStages; ++i) {
      query_full[i].init(1), query_empty[i].init(Shape::kWarpgroups);
      d_out_full[i].init(1), d_out_empty[i].init(Shape::kWarpgroups);
    }
    fence_barriers();
  }
};

/// Named barriers, from 1 on: 0 is that of the whole block.
enum BackwardBarrier : int { kScoresThere = 1, kGroupOfFirst = 2, kSumsThere = 4, kSumsTaken = 6 };

/// The tile of keys of a block. Blocks of lower number have tiles of lower number: those that wait
/// for their turn wait for blocks that have begun.
struct KeyTile {
  int batch, kv_head, number;
};
template <class Shape>
__device__ KeyTile key_tile(const BackwardCall& c) {
  const Dims& d = c.b.p.d;
  const int heads = static_cast<int>(d.batch * d.kv_heads);
  const int tiles = static_cast<int>(ceil_div(d.keys, Shape::kKeys));
  const int section = static_cast<int>(blockIdx.x) / (c.heads_at_a_time * tiles);
  const int first = section * c.heads_at_a_time, n = static_cast<int>(blockIdx.x) - first * tiles;
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

/// One thread, which brings what the consumers read.
template <class Shape>
class BackwardProducer {
  using Memory = BackwardMemory<Shape>;

 public:
  __device__ BackwardProducer(const BackwardCall& call, Memory& memory, KeyTile tile)
      : c(call), s(memory), tile_(tile) {}

  __device__ void run() {
    load<Memory::kKeyBytes>(s.key, c.key, {0, tile_.number * Shape::kKeys, tile_.kv_head, tile_.batch},
                            s.key_full, 0, kEvictFirst);
    load<Memory::kKeyBytes>(s.value, c.value, {0, tile_.number * Shape::kKeys, tile_.kv_head, tile_.batch},
                            s.value_full, 0, kEvictFirst);
    const Dims& d = c.b.p.d;
    const int group = static_cast<int>(d.q_heads / d.kv_heads);
    for (int head = tile_.kv_head * group; head < (tile_.kv_head + 1) * group; ++head) {
      WideWalk<Shape::kWarpgroups, Shape::kColumns> walk(table_of(c.b.p.by_key, tile_.batch, head),
                                                         tile_.number, d.keys);
      while (!walk.is_at_end()) bring(head, walk.next());
    }
    s.query_empty[at_.slot].wait(at_.parity ^ 1);
    s.steps[at_.slot].number = -1;
    s.query_full[at_.slot].arrive();
  }

 private:
  using Tile = WideTile<Shape::kWarpgroups, Shape::kColumns>;

  __device__ void bring(int head, const Tile& tile) {
    const Corner corner{0, tile.number * Shape::kQueries, head, tile_.batch};
    s.query_empty[at_.slot].wait(at_.parity ^ 1);
    typename Memory::Step& step = s.steps[at_.slot];
    step.head = head, step.number = tile.number;
    for (int i = 0; i < Shape::kWarpgroups; ++i) {
      for (int j = 0; j < Shape::kColumns; ++j) step.cells[i][j] = tile.cells[i][j];
    }
    constexpr int kRowBytes = Shape::kColumns * 2 * kTile * 4;
    load<Memory::kQueryBytes>(s.query[at_.slot], c.query, corner, s.query_full[at_.slot], kRowBytes,
                              kEvictLast);
    const Index first = (Index{tile_.batch} * c.b.p.d.q_heads + head) * c.query_tiles +
                        tile.number * Shape::kColumns;
    load_floats(s.rows[at_.slot][0][0], c.rows + first * 2 * kTile, kRowBytes,
                s.query_full[at_.slot]);
    s.d_out_empty[at_.slot].wait(at_.parity ^ 1);
    load<Memory::kQueryBytes>(s.d_out[at_.slot], c.d_out, corner, s.d_out_full[at_.slot], 0,
                              kEvictLast);
    at_.next();
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
  const KeyTile tile_;
  Turn<Shape::kStages> at_;
};

// ---------------------------------------------------------------------------- who adds to d_query

/// The last tile of 64 before tile `end` in a tile row that is not empty; -1: there is none.
__device__ inline int last_before(const TileTableView& table, int tile_row, int end) {
  int low = static_cast<int>(table.row_begins[tile_row]);
  const int first = low;
  int high = static_cast<int>(table.row_ends[tile_row]);
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

/// A warp that adds the sums of one warpgroup.
template <class Shape>
class BackwardAdder {
  using Memory = BackwardMemory<Shape>;

 public:
  __device__ BackwardAdder(const BackwardCall& call, Memory& memory, KeyTile tile, int group)
      : c(call), s(memory), tile_(tile), group_(group) {}

  __device__ void run() {
    const bool is_first = threadIdx.x % 32 == 0;
    for (;;) {
      arrive(kSumsTaken + group_, 128 + 32);
      sync(kSumsThere + group_, 128 + 32);
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
    if (c.turns) {
      asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
      asm volatile("fence.proxy.async.global;" ::: "memory");
      asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(c.turns + goal.piece),
                   "r"(tile_.number + 1)
                   : "memory");
    } else {
      wait_for_stores<0>();
    }
  }
  /// Until the previous tile of keys that adds to the piece has done so.
  __device__ void wait_for_turn(const typename Memory::Goal& goal) {
    const TileTableView& table = table_of(c.b.p.by_query, tile_.batch, goal.head);
    const int rows = static_cast<int>(ceil_div(c.b.p.d.queries, kTile));
    int last = -1;
    for (int i = 0; i < Shape::kColumns; ++i) {
      const int row = goal.number * Shape::kColumns + i;
      if (row < rows) last = max(last, last_before(table, row, tile_.number * Shape::kWarpgroups));
    }
    const int wanted = last < 0 ? 0 : last / Shape::kWarpgroups + 1;
    int turn;
    do {
      asm volatile("ld.acquire.gpu.global.s32 %0, [%1];"
                   : "=r"(turn)
                   : "l"(c.turns + goal.piece)
                   : "memory");
    } while (turn != wanted);
    asm volatile("fence.proxy.async.global;" ::: "memory");
  }

  const BackwardCall& c;
  Memory& s;
  const KeyTile tile_;
  const int group_;
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
          const std::uint32_t got =
              __shfl_xor_sync(~0u, is_upper ? pairs[j] : pairs[j + bit], bit);
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

/// A warpgroup: 64 keys, of which a thread has `row_` and `row_` + 8.
template <class Shape>
class BackwardConsumer {
  using T = typename Shape::Element;
  using Memory = BackwardMemory<Shape>;
  static constexpr int kDim = Shape::kDim, kQueries = Shape::kQueries, kKeys = Shape::kKeys;

 public:
  __device__ BackwardConsumer(const BackwardCall& call, Memory& memory, KeyTile tile)
      : c(call),
        s(memory),
        tile_(tile),
        group_(__shfl_sync(~0u, static_cast<int>(threadIdx.x) / 128 - 1, 0)),
        thread_(static_cast<int>(threadIdx.x) % 128),
        row_(thread_ / 32 * 16 + thread_ % 32 / 4),
        keys_left_(static_cast<int>(call.b.p.d.keys) - tile.number * kKeys - group_ * 64) {}

  __device__ __forceinline__ void run() {
#pragma unroll
    for (int i = 0; i < kDim / 2; ++i) d_key_[i] = d_value_[i] = 0;
    s.key_full.wait(0);
    s.value_full.wait(0);
    clear_unseen();
    for (;; at_.next()) {
      s.query_full[at_.slot].wait(at_.parity);
      step_ = &s.steps[at_.slot];
      if (step_->number < 0) break;
      if (is_full()) {
        step<false>();
      } else {
        step<true>();
      }
    }
    sync(kSumsTaken + group_, 128 + 32);
    if (thread_ == 0) s.goals[group_].piece = -1;
    arrive(kSumsThere + group_, 128 + 32);
    finish();
  }

 private:
  using Words = std::uint64_t[Shape::kColumns][2];

  template <bool kMasked>
  __device__ __forceinline__ void step() {
    float scores[kQueries / 2], d_scores[kQueries / 2];
    std::uint32_t weights[kQueries / 4], rounded[kQueries / 4];
    float d_query[32];
    multiply(scores, s.key, s.query[at_.slot]);
    s.d_out_full[at_.slot].wait(at_.parity);
    multiply(d_scores, s.value, s.d_out[at_.slot]);
    Words words;
    if constexpr (kMasked) read_tile(words);
    if constexpr (Shape::kIsGeneral) {
      wgmma_wait<0>();
      pin(scores), pin(d_scores);
      differentiate_generally<kMasked>(scores, d_scores, words);
    } else {
      wgmma_wait<1>();
      pin(scores);
      weigh(scores);
      if constexpr (kMasked) close(scores, words);
      wgmma_wait<0>();
      pin(d_scores);
      differentiate(scores, d_scores);
    }
    round(scores, weights);
    round(d_scores, rounded);
    share(rounded);
    accumulate(d_value_, weights, s.d_out[at_.slot]);
    fence_shared_writes();
    sync(kScoresThere, 128 * Shape::kWarpgroups);
    multiply_scores(d_query);
    wgmma_wait<1>();
    pin(d_value_);
    release(s.d_out_empty[at_.slot]);
    accumulate(d_key_, rounded, s.query[at_.slot]);
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

  /// The group's rows of a tile of keys times all of a tile of queries, transposed.
  __device__ __forceinline__ void multiply(
      float (&to)[kQueries / 2], const unsigned char (&keys)[Shape::kPanels][Memory::kKeyBytes],
      const unsigned char (&queries)[Shape::kPanels][Memory::kQueryBytes]) {
    const std::uint32_t a = shared_address(keys) + group_ * 64 * kPanelRowBytes;
    const std::uint32_t b = shared_address(queries);
    pin(to);
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < kDim / 16; ++i) {
      const int panel = i / 4, inside = i % 4 * 32;
      wgmma<T, kQueries, 0, 0>(to, k_major(a + panel * Memory::kKeyBytes + inside),
                               k_major(b + panel * Memory::kQueryBytes + inside), i > 0);
    }
    wgmma_commit();
  }
  /// sums += a of [64 keys x queries] times a tile of queries.
  __device__ __forceinline__ void accumulate(
      float (&sums)[kDim / 2], const std::uint32_t (&a)[kQueries / 4],
      const unsigned char (&queries)[Shape::kPanels][Memory::kQueryBytes]) {
    const std::uint32_t b = shared_address(queries);
    pin(sums);
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < kQueries / 16; ++i) {
      wgmma<T, kDim, 1>(sums, a + 4 * i,
                        transposed(b + i * 16 * kPanelRowBytes, Memory::kQueryBytes), 1);
    }
    wgmma_commit();
  }
  /// The group's piece of d_query: half of the queries, or half of the columns.
  __device__ __forceinline__ void multiply_scores(float (&d_query)[32]) {
    const std::uint32_t a =
        shared_address(s.d_scores[at_.slot][group_ % Shape::kColumns]);
    const std::uint32_t b = shared_address(s.key[group_ % Shape::kPanels]);
    pin(d_query);
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < kKeys / 16; ++i) {
      wgmma<T, 64, 1, 1>(d_query, transposed(a + i * 16 * kPanelRowBytes, Memory::kKeyBytes),
                         transposed(b + i * 16 * kPanelRowBytes, Memory::kKeyBytes), i > 0);
    }
    wgmma_commit();
  }

  /// Whether the tile at hand opens all cells.
  __device__ __forceinline__ bool is_full() const {
    bool full = keys_left_ >= 64;
#pragma unroll
    for (int i = 0; i < Shape::kColumns; ++i) full &= step_->cells[group_][i] == kAllCells;
    return full;
  }
  /// What it opens in the thread's rows.
  __device__ __forceinline__ void read_tile(Words& words) const {
    const TileTableView& table = table_of(c.b.p.by_key, tile_.batch, step_->head);
#pragma unroll
    for (int i = 0; i < Shape::kColumns; ++i) {
#pragma unroll
      for (int side = 0; side < 2; ++side) {
        const int row = row_ + 8 * side;
        words[i][side] = row < keys_left_ ? open_word(table, step_->cells[group_][i], row) : 0;
      }
    }
  }

  /// The lse, or the delta, of the queries of elements 4 i and 4 i + 1 of a fragment.
  __device__ __forceinline__ float2 row_values(int which, int i) const {
    return *reinterpret_cast<const float2*>(
        &s.rows[at_.slot][i / 8][which][i % 8 * 8 + thread_ % 4 * 2]);
  }

  __device__ __forceinline__ void weigh(float (&scores)[kQueries / 2]) const {
    const float to_exponent = c.b.p.scale * kLog2E;
#pragma unroll
    for (int i = 0; i < kQueries / 8; ++i) {
      const float2 lse = row_values(0, i);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        float& x = scores[4 * i + j];
        x = exp2_approximate(fmaf(x, to_exponent, j % 2 == 0 ? -lse.x : -lse.y));
      }
    }
  }
  __device__ __forceinline__ void close(float (&weights)[kQueries / 2], const Words& words) const {
#pragma unroll
    for (int i = 0; i < Shape::kColumns; ++i) {
#pragma unroll
      for (int side = 0; side < 2; ++side) {
        each_cell(words[i][side], [&](int n, bool is_open) {
          if (!is_open) weights[32 * i + 2 * side + n] = 0;
        });
      }
    }
  }
  /// Gradients of the weights become those of the scores.
  __device__ __forceinline__ void differentiate(const float (&weights)[kQueries / 2],
                                                float (&d_scores)[kQueries / 2]) {
#pragma unroll
    for (int i = 0; i < kQueries / 8; ++i) {
      const float2 delta = row_values(1, i);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        float& x = d_scores[4 * i + j];
        x = weights[4 * i + j] * (x - (j % 2 == 0 ? delta.x : delta.y));
      }
    }
  }
  /// Both, where each weight depends on its place.
  template <bool kMasked>
  __device__ __forceinline__ void differentiate_generally(float (&scores)[kQueries / 2],
                                                          float (&d_scores)[kQueries / 2],
                                                          const Words& words) {
    const SoftmaxParams& p = c.b.p;
    const int head = step_->head;
#pragma unroll
    for (int i = 0; i < kQueries / 2; ++i) {
      const int column = i / 4 * 8 + thread_ % 4 * 2 + i % 2, side = i / 2 % 2;
      const Index query = Index{step_->number} * kQueries + column;
      const Index key = Index{tile_.number} * kKeys + group_ * 64 + row_ + 8 * side;
      const bool is_open =
          query < p.d.queries &&
          (!kMasked || (words[i / 32][side] >> column % 64 & 1) != 0);
      float weight = 0, kept = 0, slope = 1, multiplied = 1;
      if (is_open) {
        const float s = logit(p, tile_.batch, head, query, key, scores[i], slope);
        const float2 lse = row_values(0, i / 4);
        weight = exp2_approximate(s * kLog2E - (i % 2 == 0 ? lse.x : lse.y));
        multiplied = multiplier(p, tile_.batch, head, query, key);
        kept = weight * multiplied;
      }
      const float2 delta = row_values(1, i / 4);
      d_scores[i] =
          weight * slope * (multiplied * d_scores[i] - (i % 2 == 0 ? delta.x : delta.y));
      scores[i] = kept;
    }
  }
  __device__ __forceinline__ void round(const float (&x)[kQueries / 2],
                                        std::uint32_t (&pairs)[kQueries / 4]) {
#pragma unroll
    for (int i = 0; i < kQueries / 4; ++i) pairs[i] = rounded_pair<T>(x[2 * i], x[2 * i + 1]);
  }

  /// Puts the gradients of the group's scores where both groups read them.
  __device__ __forceinline__ void share(const std::uint32_t (&rounded)[kQueries / 4]) {
    const int lane = thread_ % 32, matrix = lane / 8;
    const int row = group_ * 64 + thread_ / 32 * 16 + matrix % 2 * 8 + lane % 8;
    // Panels are aligned: the 16 bytes of other columns are found by turning bits of the address.
    const std::uint32_t begin = made_here(shared_address(s.d_scores[at_.slot]) +
                                          swizzled(row, matrix / 2 * 8));
#pragma unroll
    for (int i = 0; i < kQueries / 16; ++i) {
      store_matrices((begin ^ i % 4 * 32) + i / 4 * Memory::kKeyBytes, rounded + 4 * i);
    }
  }
  /// Gives the group's piece of d_query to the adder.
  __device__ __forceinline__ void hand_over(const float (&d_query)[32]) {
    sync(kSumsTaken + group_, 128 + 32);
    auto* const to = reinterpret_cast<float4*>(s.d_query[group_]) + thread_;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      to[128 * i] = make_float4(d_query[4 * i], d_query[4 * i + 1], d_query[4 * i + 2],
                                d_query[4 * i + 3]);
    }
    if (thread_ == 0) {
      const int row = tile_.batch * static_cast<int>(c.b.p.d.q_heads) + step_->head;
      const int tile = step_->number * Shape::kColumns + group_ % Shape::kColumns;
      s.goals[group_] = {step_->head, step_->number,
                         (row * c.query_tiles + tile) * Shape::kPanels + group_ % Shape::kPanels};
    }
    fence_shared_writes();
    arrive(kSumsThere + group_, 128 + 32);
  }

  /// Sets keys and values that no query of the group of heads sees to zero: 0 times what they hold
  /// could be NaN.
  __device__ __forceinline__ void clear_unseen() {
    const int key = thread_ % 64;
    if (key < keys_left_ && !is_seen(key)) {
#pragma unroll
      for (int panel = 0; panel < Shape::kPanels; ++panel) {
        const int at = (group_ * 64 + key) * kPanelRowBytes + thread_ / 64 * 64;
#pragma unroll
        for (int i = 0; i < 64; i += 16) {
          *reinterpret_cast<uint4*>(s.key[panel] + at + i) = make_uint4(0, 0, 0, 0);
          *reinterpret_cast<uint4*>(s.value[panel] + at + i) = make_uint4(0, 0, 0, 0);
        }
      }
    }
    fence_shared_writes();
    sync(kGroupOfFirst + group_, 128);
  }
  __device__ bool is_seen(int key) const {
    const Dims& d = c.b.p.d;
    const int group = static_cast<int>(d.q_heads / d.kv_heads);
    const TileTableView* previous = nullptr;
    for (int head = tile_.kv_head * group; head < (tile_.kv_head + 1) * group; ++head) {
      const TileTableView& table = table_of(c.b.p.by_key, tile_.batch, head);
      if (&table == previous) continue;
      previous = &table;
      TileRowWalk walk(table, Index{tile_.number} * Shape::kWarpgroups + group_,
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
    const Dims& d = c.b.p.d;
    const Index first =
        (tile_.batch * d.keys + tile_.number * kKeys + group_ * 64) * d.kv_heads + tile_.kv_head;
    const float* const shares =
        c.mean_shares ? c.mean_shares + (tile_.batch * d.kv_heads + tile_.kv_head) * d.value_dim
                      : nullptr;
#pragma unroll
    for (int i = 0; i < kDim / 2; ++i) {
      const int column = i / 4 * 8 + thread_ % 4 * 2 + i % 2;
      if (shares && column < d.value_dim) d_value_[i] += shares[column];
    }
#pragma unroll
    for (int panel = 0; panel < Shape::kPanels; ++panel) {
      const int column = panel * kPanel;
      store_piece(d_key_ + 32 * panel, c.b.p.scale, static_cast<T*>(c.d_key) + first * d.dim + column,
                  d.kv_heads * d.dim, keys_left_, static_cast<int>(d.dim) - column);
      store_piece(d_value_ + 32 * panel, 1,
                  static_cast<T*>(c.d_value) + first * d.value_dim + column,
                  d.kv_heads * d.value_dim, keys_left_, static_cast<int>(d.value_dim) - column);
    }
  }

  const BackwardCall& c;
  Memory& s;
  const KeyTile tile_;
  const int group_, thread_, row_, keys_left_;
  Turn<Shape::kStages> at_;
  const typename Memory::Step* step_ = nullptr;
  float d_key_[kDim / 2], d_value_[kDim / 2];
};

template <class Shape>
__global__ void __launch_bounds__(Shape::kThreads, 1)
    backward_kernel(const __grid_constant__ BackwardCall call) {
  using Memory = BackwardMemory<Shape>;
  const std::uint32_t begin = shared_address(dynamic_shared());
  Memory& memory = *reinterpret_cast<Memory*>(
      dynamic_shared() + ((begin + kAtomBytes - 1) / kAtomBytes * kAtomBytes - begin));
  if (threadIdx.x == 0) memory.init();
  const KeyTile tile = key_tile<Shape>(call);
  __syncthreads();
  if (threadIdx.x < 128) {
    give_registers<Shape::kFew>();
    const int warp = static_cast<int>(threadIdx.x) / 32;
    if (warp == 0) {
      if (threadIdx.x == 0) BackwardProducer<Shape>(call, memory, tile).run();
    } else if (warp <= Shape::kWarpgroups) {
      BackwardAdder<Shape>(call, memory, tile, warp - 1).run();
    }
  } else {
    take_registers<Shape::kMany>();
    BackwardConsumer<Shape>(call, memory, tile).run();
  }
}

// ------------------------------------------------------------------------------------ the launch

template <class F>
void with_16_bits(DType dtype, F&& f) {
  if (dtype == DType::kFloat16) return f(std::type_identity<__half>());
  f(std::type_identity<__nv_bfloat16>());
}

/// Launches the kernel of a width; each is compiled in a file of its own.
template <int kWidth>
void launch_width(const BackwardCall& call, Stream stream);

template <class Shape>
void launch_shape(const BackwardCall& call, Stream stream) {
  const Dims& d = call.b.p.d;
  launch("softmax_backward: d_query, d_key, d_value", backward_kernel<Shape>,
         static_cast<unsigned>(d.batch * d.kv_heads * ceil_div(d.keys, Shape::kKeys)),
         Shape::kThreads, sizeof(BackwardMemory<Shape>) + kAtomBytes, stream, call);
}
template <int kWidth>
void launch_width(const BackwardCall& call, Stream stream) {
  const SoftmaxParams& p = call.b.p;
  const bool is_general = p.bias.data || p.soft_cap != 0 || p.dropout != 0;
  with_16_bits(p.query.dtype, [&]<class T>(std::type_identity<T>) {
    (is_general ? launch_shape<BackwardShape<T, kWidth, true>>
                : launch_shape<BackwardShape<T, kWidth, false>>)(call, stream);
  });
}

}  // namespace maskctl::attention::cuda::hopper
