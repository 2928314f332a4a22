// Forward attention on the tensor cores of Hopper GPUs.
//
// A block stays on its multiprocessor and draws tiles of queries of one head, the longest first.
// Its first warpgroup has one warp at work, the producer: it walks the tiles of keys that the mask
// opens and has the copy engine bring queries, keys and values into rings in shared memory. Each
// further warpgroup has 64 of the queries: while its product of weights and values for one tile of
// keys is under way, so is that of queries and keys for the next, and warpgroups take turns so that
// one has the tensor cores while another takes exponentials.
#pragma once

#include "maskctl/attention/cuda/hopper/async.cuh"
#include "maskctl/attention/cuda/hopper/kernel.cuh"
#include "maskctl/attention/cuda/hopper/mask_walk.cuh"
#include "maskctl/attention/cuda/hopper/powers.cuh"
#include "maskctl/attention/cuda/softmax/tile.cuh"

namespace maskctl::attention::cuda::hopper {

struct ForwardCall {
  SoftmaxParams p;
  CUtensorMap query, key, value, out;  // boxes of all rows of a tile; of `out`: of 64
  const float* means = nullptr;        // see launch_forward of kernels.h
  float* lse = nullptr;
  const int* order = nullptr;  // for each table of by_query: its tile rows, the longest first
  int* drawn = nullptr;        // how many tiles blocks have drawn; 0 before
  int tile_rows = 0;           // of a head
  int heads_at_once = 1;       // whose keys and values fit into the L2 cache together
};

/// How a call is cut.
struct Tiling {
  int dim;          // of queries, keys and values; zeros are added
  int keys;         // of a tile
  int warpgroups;   // with 64 queries each
  int stages;       // tiles of keys, and of values, in shared memory
  int query_slots;  // tiles of queries there
  bool takes_turns;
  int blocks = 1;  // on a multiprocessor
};

/// `kGeneral`: with a bias, a soft cap, dropout, a scale that is not positive, or sums as they are.
template <class T, Tiling kTiling, bool kGeneral>
struct ForwardShape {
  using Element = T;
  static constexpr int kDim = kTiling.dim, kKeys = kTiling.keys, kWarpgroups = kTiling.warpgroups;
  static constexpr int kStages = kTiling.stages, kTilesOfQueries = kTiling.query_slots;
  static constexpr int kBlocks = kTiling.blocks;
  static constexpr bool kTakesTurns = kTiling.takes_turns, kIsGeneral = kGeneral;

  static constexpr int kRows = 64 * kWarpgroups;  // queries of a tile
  static constexpr int kPanels = kDim / kPanel;
  static constexpr int kColumns = kKeys / kTile;  // tiles of the mask side by side
  static constexpr int kThreads = 128 * (kWarpgroups + 1);
  // Registers of a thread: all 64 Ki are shared out.
  static constexpr int kFew = kWarpgroups == 1 ? 56 : kWarpgroups == 2 ? 40 : 32;
  static constexpr int kMany = kWarpgroups == 1 ? 200 : kWarpgroups == 2 ? 232 : 160;
};

/// What the producer tells of a tile of queries.
struct Work {
  int b, h, tile;
  bool is_end;     // there is none
  bool has_tiles;  // of keys
};

template <class Shape>
struct ForwardMemory {
  static constexpr int kKeyBytes = Shape::kKeys * kPanelRowBytes;  // of a panel
  static constexpr int kQueryBytes = Shape::kRows * kPanelRowBytes;

  struct KeyTile {
    int number;
    bool is_last;
    bool has_unseen;  // keys that none of the queries sees
    int payload_rows;
    Cells cells[Shape::kWarpgroups][Shape::kColumns];
  };
  using Payload = std::uint64_t[kTile];  // of one of the cells

  unsigned char query[Shape::kTilesOfQueries][Shape::kPanels][kQueryBytes];
  unsigned char key[Shape::kStages][Shape::kPanels][kKeyBytes];
  unsigned char value[Shape::kStages][Shape::kPanels][kKeyBytes];
  Payload payloads[Shape::kStages][Shape::kWarpgroups][Shape::kColumns];
  KeyTile tiles[Shape::kStages];  // as long as the keys are there
  // Of each tile until its values are used, when keys of other tiles may have its place.
  std::uint64_t unseen[2 * Shape::kStages][Shape::kColumns];
  Work work[Shape::kTilesOfQueries];
  Barrier query_full[Shape::kTilesOfQueries], query_empty[Shape::kTilesOfQueries];
  Barrier key_full[Shape::kStages], key_empty[Shape::kStages];
  Barrier value_full[Shape::kStages], value_empty[Shape::kStages];

  /// The place of a tile in a ring of two turns.
  __device__ static int round(const Turn<Shape::kStages>& at) {
    return at.slot + Shape::kStages * at.parity;
  }
  __device__ void init() {
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

/// The n-th tile of queries: heads whose keys fit into the cache, then the longest tiles first.
__device__ inline Work draw(const ForwardCall& c, int n) {
  const int heads = static_cast<int>(c.p.d.batch * c.p.d.q_heads);
  const int first = n / (c.tile_rows * c.heads_at_once) * c.heads_at_once;
  if (first >= heads) return {0, 0, 0, true, false};
  const int together = min(c.heads_at_once, heads - first);
  n -= first * c.tile_rows;
  const int head = first + n % together;
  const int b = head / static_cast<int>(c.p.d.q_heads), h = head % static_cast<int>(c.p.d.q_heads);
  const int table = static_cast<int>(table_number(c.p.by_query, b, h));
  return {b, h, c.order[table * c.tile_rows + n / together], false, false};
}

// ---------------------------------------------------------------------------------- the producer

template <class Shape>
class Producer {
  using Memory = ForwardMemory<Shape>;
  using Walk = WideWalk<Shape::kWarpgroups, Shape::kColumns>;
  using Tile = WideTile<Shape::kWarpgroups, Shape::kColumns>;
  /// A tile of keys.
  struct Step {
    Tile tile;
    bool is_last;
    std::uint64_t unseen[Shape::kColumns];  // keys that none of its queries sees
  };

 public:
  __device__ Producer(const ForwardCall& call, Memory& memory)
      : c(call), s(memory), is_first_(threadIdx.x % 32 == 0) {}

  __device__ __forceinline__ void run() {
    for (;;) {
      int n = 0;
      if (is_first_) n = atomicAdd(c.drawn, 1);
      Work work = draw(c, __shfl_sync(~0u, n, 0));
      if (work.is_end) return announce(work);
      const TileTableView& table = table_of(c.p.by_query, work.b, work.h);
      Walk walk(table, work.tile, c.p.d.queries);
      work.has_tiles = !walk.is_at_end();
      if (work.has_tiles) {
        bring_all(table, walk, work);
      } else {
        announce(work);
      }
    }
  }

 private:
  /// Tells of a tile of queries, and has it brought where a tile of keys meets it.
  __device__ __forceinline__ void announce(const Work& work) {
    s.query_empty[at_query_.slot].wait(at_query_.parity ^ 1);
    if (is_first_) {
      s.work[at_query_.slot] = work;
      Barrier& full = s.query_full[at_query_.slot];
      if (work.has_tiles) {
        full.arrive_expecting(Shape::kPanels * Memory::kQueryBytes);
        for (int i = 0; i < Shape::kPanels; ++i) {
          load_box(s.query[at_query_.slot][i], c.query,
                   {i * kPanel, work.tile * Shape::kRows, work.h, work.b}, full, kEvictFirst);
        }
      } else {
        full.arrive();
      }
    }
    at_query_.next();
  }

  /// Has keys and values of all tiles brought; the first keys before queries, whose room may be in
  /// use yet. The next tile is looked up, which takes three loads one after the other, before the
  /// values of this one find room: the time until then is free.
  __device__ __forceinline__ void bring_all(const TileTableView& table, Walk& walk,
                                            const Work& work) {
    Step step = look_up(table, walk);
    for (bool is_new = true, is_last = false; !is_last; is_new = false) {
      const Corner corner{0, step.tile.number * Shape::kKeys,
                          work.h / static_cast<int>(c.p.d.group()), work.b};
      bring_keys(table, step, corner);
      if (is_new) announce(work);
      is_last = step.is_last;
      if (!is_last) step = look_up(table, walk);
      bring_values(corner);
      at_.next();
    }
  }
  __device__ __forceinline__ Step look_up(const TileTableView& table, Walk& walk) const {
    Step step;
    step.tile = walk.next();
    step.is_last = walk.is_at_end();
#pragma unroll
    for (int i = 0; i < Shape::kColumns; ++i) step.unseen[i] = unseen_keys(table, step.tile, i);
    return step;
  }
  __device__ __forceinline__ void bring_keys(const TileTableView& table, const Step& step,
                                             Corner corner) {
    bool has_unseen = false;
    for (const std::uint64_t keys : step.unseen) has_unseen |= keys != 0;
    s.key_empty[at_.slot].wait(at_.parity ^ 1);
    if (is_first_) {
      auto& known = s.tiles[at_.slot];
      known.number = step.tile.number;
      known.is_last = step.is_last, known.has_unseen = has_unseen;
      known.payload_rows = table.payload_rows;
      for (int i = 0; i < Shape::kColumns; ++i) s.unseen[Memory::round(at_)][i] = step.unseen[i];
      const int bytes = table.payload_rows * static_cast<int>(sizeof(std::uint64_t));
      int payload_bytes = 0;
      each_cells(step.tile, [&](int i, int j, Cells cells) {
        known.cells[i][j] = cells;
        if (has_payload(cells)) payload_bytes += bytes;
      });
      load(s.key[at_.slot], c.key, corner, s.key_full[at_.slot], payload_bytes);
      each_cells(step.tile, [&](int i, int j, Cells cells) {
        if (!has_payload(cells)) return;
        load_bytes(s.payloads[at_.slot][i][j], payload_of(table, cells), bytes,
                   s.key_full[at_.slot]);
      });
    }
    __syncwarp();
  }
  __device__ __forceinline__ void bring_values(Corner corner) {
    s.value_empty[at_.slot].wait(at_.parity ^ 1);
    if (is_first_) load(s.value[at_.slot], c.value, corner, s.value_full[at_.slot], 0);
    __syncwarp();
  }
  template <class F>
  __device__ static __forceinline__ void each_cells(const Tile& tile, F&& f) {
#pragma unroll
    for (int i = 0; i < Shape::kWarpgroups; ++i) {
#pragma unroll
      for (int j = 0; j < Shape::kColumns; ++j) f(i, j, tile.cells[i][j]);
    }
  }
  __device__ __forceinline__ void load(unsigned char (&to)[Shape::kPanels][Memory::kKeyBytes],
                                       const CUtensorMap& map, Corner corner, Barrier& full,
                                       int more_bytes) {
    full.arrive_expecting(Shape::kPanels * Memory::kKeyBytes + more_bytes);
    for (int i = 0; i < Shape::kPanels; ++i) {
      corner.column = i * kPanel;
      load_box(to[i], map, corner, full, kEvictLast);
    }
  }
  /// Keys of column i of a tile that none of its queries sees: their values may be NaN.
  __device__ std::uint64_t unseen_keys(const TileTableView& table, const Tile& tile, int i) const {
    bool is_full = false;
    for (int r = 0; r < Shape::kWarpgroups; ++r) is_full |= tile.cells[r][i] == kAllCells;
    if (is_full) return 0;
    std::uint64_t used = 0;
    for (int r = 0; r < Shape::kWarpgroups; ++r) used |= used_columns(table, tile.cells[r][i]);
    return ~used;
  }

  const ForwardCall& c;
  Memory& s;
  const bool is_first_;  // lane
  Turn<Shape::kTilesOfQueries> at_query_;
  Turn<Shape::kStages> at_;
};

// --------------------------------------------------------------------------------- the consumers

/// A warpgroup: 64 queries of each tile, of which a thread has `row_` and `row_` + 8.
template <class Shape>
class Consumer {
  using T = typename Shape::Element;
  using Memory = ForwardMemory<Shape>;
  static constexpr int kDim = Shape::kDim, kKeys = Shape::kKeys;

 public:
  __device__ Consumer(const ForwardCall& call, Memory& memory)
      : c(call),
        s(memory),
        group_(__shfl_sync(~0u, static_cast<int>(threadIdx.x) / 128 - 1, 0)),
        thread_(static_cast<int>(threadIdx.x) % 128),
        row_(thread_ / 32 * 16 + thread_ % 32 / 4),
        to_exponent_(Shape::kIsGeneral ? 1 : call.p.scale * kLog2E) {}

  __device__ __forceinline__ void run() {
    if (Shape::kTakesTurns && group_ == Shape::kWarpgroups - 1) pass_turn();
    for (;; at_query_.next()) {
      s.query_full[at_query_.slot].wait(at_query_.parity);
      work_ = s.work[at_query_.slot];
      if (__any_sync(~0u, work_.is_end)) return;
#pragma unroll
      for (float& x : sums_) x = 0;
      max_[0] = max_[1] = -kInfinity;
      total_[0] = total_[1] = 0;
      if (__any_sync(~0u, work_.has_tiles)) walk();
      finish();
    }
  }

 private:
  struct Words {
    std::uint32_t of[Shape::kColumns][2];
    bool is_full;
  };

  /// All tiles of keys. The weights of a tile meet its values while the scores of the next are
  /// made.
  __device__ __forceinline__ void walk() {
    float scores[kKeys / 2];
    std::uint32_t weights[kKeys / 4];
    float shrunk[2];
    s.key_full[at_.slot].wait(at_.parity);
    take_turn();
    multiply_keys(scores);
    pass_turn();
    Words words = read_tile();
    wgmma_wait<0>();
    pin(scores);
    release(s.key_empty[at_.slot]);
    weigh(scores, words, shrunk);
    round(scores, weights);
    at_.next();
    while (!is_last_) {
      s.key_full[at_.slot].wait(at_.parity);
      if (has_unseen_) clear_unseen();
      take_turn();
      multiply_keys(scores);
      s.value_full[at_value_.slot].wait(at_value_.parity);
      multiply_values(weights);
      pass_turn();
      words = read_tile();
      wgmma_wait<1>();
      pin(scores);
      release(s.key_empty[at_.slot]);
      weigh(scores, words, shrunk);
      wgmma_wait<0>();
      pin(sums_);
      release(s.value_empty[at_value_.slot]);
      if (has_grown_) {
#pragma unroll
        for (int i = 0; i < kDim / 2; ++i) sums_[i] *= shrunk[i / 2 % 2];
      }
      round(scores, weights);
      at_.next(), at_value_.next();
    }
    if (has_unseen_) clear_unseen();
    s.value_full[at_value_.slot].wait(at_value_.parity);
    multiply_values(weights);
    wgmma_wait<0>();
    pin(sums_);
    release(s.value_empty[at_value_.slot]);
    at_value_.next();
  }

  // Warpgroups issue their products one after the other: exponentials of one overlap the products
  // of the other. (Overlapping those of the own one as well was measured 5 % slower.)
  __device__ __forceinline__ void take_turn() {
    if constexpr (Shape::kTakesTurns) sync(kTurnOfFirst + group_, 256);
  }
  __device__ __forceinline__ void pass_turn() {
    if constexpr (Shape::kTakesTurns) {
      arrive(kTurnOfFirst + (group_ + 1) % Shape::kWarpgroups, 256);
    }
  }
  __device__ __forceinline__ void release(Barrier& empty) {
    if (thread_ % 32 == 0) empty.arrive();
  }

  __device__ __forceinline__ void multiply_keys(float (&scores)[kKeys / 2]) {
    const std::uint64_t query =
        k_major(shared_address(s.query[at_query_.slot][0]) + group_ * 64 * kPanelRowBytes);
    const std::uint64_t key = k_major(shared_address(s.key[at_.slot][0]));
    pin(scores);
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < kDim / 16; ++i) {
      const int panel = i / 4, inside = i % 4 * 32;
      wgmma<T, kKeys, 0, 0>(scores, advanced(query, panel * Memory::kQueryBytes + inside),
                            advanced(key, panel * Memory::kKeyBytes + inside), i > 0);
    }
    wgmma_commit();
  }
  __device__ __forceinline__ void multiply_values(const std::uint32_t (&weights)[kKeys / 4]) {
    const std::uint64_t value =
        transposed(shared_address(s.value[at_value_.slot][0]), Memory::kKeyBytes);
    pin(sums_);
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < kKeys / 16; ++i) {
      wgmma<T, kDim, 1>(sums_, weights + 4 * i, advanced(value, i * 16 * kPanelRowBytes), 1);
    }
    wgmma_commit();
  }

  /// What the tile of keys at hand opens in the thread's rows.
  __device__ __forceinline__ Words read_tile() {
    const typename Memory::KeyTile& tile = s.tiles[at_.slot];
    // Votes, so that the compiler knows that a warp agrees and uses its uniform registers.
    number_ = tile.number;
    is_last_ = __any_sync(~0u, tile.is_last), has_unseen_ = __any_sync(~0u, tile.has_unseen);
    const int keys_left = static_cast<int>(c.p.d.keys) - number_ * kKeys;
    Words words;
    words.is_full = keys_left >= kKeys;
#pragma unroll
    for (int i = 0; i < Shape::kColumns; ++i) words.is_full &= tile.cells[group_][i] == kAllCells;
    words.is_full = __all_sync(~0u, words.is_full);
    if (words.is_full) return words;
#pragma unroll
    for (int i = 0; i < Shape::kColumns; ++i) {
      const std::uint64_t exist = first_columns(keys_left - 64 * i);
      const std::uint64_t* const payload = s.payloads[at_.slot][group_][i];
#pragma unroll
      for (int side = 0; side < 2; ++side) {
        words.of[i][side] = own_columns(
            exist & open_word(tile.cells[group_][i], payload, tile.payload_rows, row_ + 8 * side));
      }
    }
    return words;
  }

  /// Sets values of keys that no query of the tile sees to zero: 0 times what they hold could be
  /// NaN.
  __device__ __forceinline__ void clear_unseen() {
    s.value_full[at_value_.slot].wait(at_value_.parity);
    for (int key = thread_ + 128 * group_; key < kKeys; key += 128 * Shape::kWarpgroups) {
      if ((s.unseen[Memory::round(at_value_)][key / 64] >> key % 64 & 1) == 0) continue;
      for (auto& panel : s.value[at_value_.slot]) {
        auto* const row = reinterpret_cast<uint4*>(panel + key * kPanelRowBytes);
        for (int i = 0; i < kPanelRowBytes / 16; ++i) row[i] = make_uint4(0, 0, 0, 0);
      }
    }
    fence_shared_writes();
    sync(kConsumers, 128 * Shape::kWarpgroups);
  }

  /// Logits of a general call, in powers of two. Cells outside the arrays, which stay closed or are
  /// not stored, read a bias that is inside.
  __device__ __forceinline__ void score_generally(float (&scores)[kKeys / 2]) {
#pragma unroll
    for (int i = 0; i < kKeys / 2; ++i) {
      const int query = work_.tile * Shape::kRows + group_ * 64 + row_ + i / 2 % 2 * 8;
      const int key = number_ * kKeys + i / 4 * 8 + thread_ % 4 * 2 + i % 2;
      float slope;
      scores[i] =
          kLog2E * logit(c.p, work_.b, work_.h, min(query, static_cast<int>(c.p.d.queries) - 1),
                         min(key, static_cast<int>(c.p.d.keys) - 1), scores[i], slope);
    }
  }
  __device__ __forceinline__ void close(float (&scores)[kKeys / 2], const Words& words) {
#pragma unroll
    for (int i = 0; i < kKeys / 2; ++i) {
      if (!is_open(words.of[i / 32][i / 2 % 2], i % 32)) scores[i] = -kInfinity;
    }
  }

  /// Scores become weights, relative to the largest score so far of each row, or to an earlier one
  /// that is little smaller: then sums stay as they are. `shrunk`: what sums so far are to be
  /// multiplied by where some maximum has_grown_.
  __device__ __forceinline__ void weigh(float (&scores)[kKeys / 2], const Words& words,
                                        float (&shrunk)[2]) {
    if constexpr (Shape::kIsGeneral) score_generally(scores);
    if (!words.is_full) close(scores, words);
    raise_maxima(scores, shrunk);
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      const float shift = max_[side] == -kInfinity ? 0 : max_[side] * to_exponent_;
      float sums[4] = {};  // short chains of additions
#pragma unroll
      for (int i = 0; i < kKeys / 2; i += 4) {
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          float& x = scores[i + 2 * side + j];
          x = exp2_approximate(fmaf(x, to_exponent_, -shift));
          sums[i / 4 % 2 * 2 + j] += x;
        }
      }
      total_[side] += (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
    if constexpr (Shape::kIsGeneral) drop(scores);
  }
  __device__ __forceinline__ void raise_maxima(const float (&scores)[kKeys / 2],
                                               float (&shrunk)[2]) {
    // In powers of two; weights stay below 2^8. Sums that nobody divides are of the largest score.
    constexpr float kLittle = Shape::kIsGeneral ? 0 : 8;
    float most[2];
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      most[side] = max_[side];
#pragma unroll
      for (int i = 0; i < kKeys / 2; i += 4) {
        most[side] = fmaxf(most[side], fmaxf(scores[i + 2 * side], scores[i + 2 * side + 1]));
      }
      most[side] = fmaxf(most[side], __shfl_xor_sync(~0u, most[side], 1));
      most[side] = fmaxf(most[side], __shfl_xor_sync(~0u, most[side], 2));
    }
    const float grown = fmaxf(most[0] - max_[0], most[1] - max_[1]);
    has_grown_ = __any_sync(~0u, grown * to_exponent_ > kLittle);
    if (!has_grown_) return;
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      const float shift = most[side] == -kInfinity ? 0 : most[side] * to_exponent_;
      shrunk[side] = exp2_approximate(max_[side] * to_exponent_ - shift);
      max_[side] = most[side];
      total_[side] *= shrunk[side];
    }
  }
  __device__ __forceinline__ void drop(float (&scores)[kKeys / 2]) {
    if (c.p.dropout == 0) return;
#pragma unroll
    for (int i = 0; i < kKeys / 2; ++i) {
      scores[i] *= multiplier(c.p, work_.b, work_.h,
                              work_.tile * Shape::kRows + group_ * 64 + row_ + i / 2 % 2 * 8,
                              number_ * kKeys + i / 4 * 8 + thread_ % 4 * 2 + i % 2);
    }
  }
  __device__ __forceinline__ void round(const float (&scores)[kKeys / 2],
                                        std::uint32_t (&weights)[kKeys / 4]) {
#pragma unroll
    for (int i = 0; i < kKeys / 4; ++i) {
      weights[i] = rounded_pair<T>(scores[2 * i], scores[2 * i + 1]);
    }
  }

  /// Writes out and lse of the tile of queries, through the memory that held the queries.
  __device__ __forceinline__ void finish() {
    float factor[2];
    bool seen[2];
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      float sum = sum_of_lanes<4>(total_[side]);
      // In units of the logits.
      float max = max_[side] == -kInfinity ? -kInfinity : max_[side] * to_exponent_ * kLn2;
      seen[side] = max != -kInfinity;
      const float shrunk = c.p.sink_count > 0 ? add_sinks(c.p, work_.h, max, sum) : 1;
      factor[side] = c.p.normalize ? shrunk / sum : 1;
      const Index query = Index{work_.tile} * Shape::kRows + group_ * 64 + row_ + 8 * side;
      if (query < c.p.d.queries && thread_ % 4 == 0) {
        c.lse[(work_.b * c.p.d.q_heads + work_.h) * c.p.d.queries + query] =
            max == -kInfinity ? -kInfinity : max + logf(sum);
      }
    }
    int row = group_ * 64 + row_, pair = thread_ % 4 * 2;
    // Addresses are made here, not kept in registers while tiles are walked.
    asm volatile("" : "+r"(row), "+r"(pair));
#pragma unroll
    for (int i = 0; i < kDim / 2; i += 2) {
      const int side = i / 2 % 2;
      *out_at(row + 8 * side, i / 4, pair) =
          rounded_pair<T>(sums_[i] * factor[side], sums_[i + 1] * factor[side]);
    }
    if (!seen[0]) fill_unseen(row);
    if (!seen[1]) fill_unseen(row + 8);
    fence_shared_writes();
    sync(kGroupOfFirst + group_, 128);
    if (thread_ == 0) store();
  }
  /// Column `pair` of eight, number `eight` of the row, in the memory that held the queries.
  __device__ __forceinline__ std::uint32_t* out_at(int row, int eight, int pair) {
    unsigned char* const panel = s.query[at_query_.slot][eight / 8];
    return reinterpret_cast<std::uint32_t*>(panel + swizzled(row, eight % 8 * 8) + pair * 2);
  }
  __device__ void fill_unseen(int row) {
    const int pair = thread_ % 4 * 2;
#pragma unroll 1
    for (int eight = 0; eight < kDim / 8; ++eight) {
      const int column = eight * 8 + pair;
      *out_at(row, eight, pair) = rounded_pair<T>(unseen_row(column), unseen_row(column + 1));
    }
  }
  /// What a row that sees no key gets.
  __device__ __forceinline__ float unseen_row(int column) const {
    if (c.p.sink_count > 0 || c.p.empty_row == EmptyRow::kZero) return 0;
    if (c.p.empty_row == EmptyRow::kNan) return nanf("");
    const Index head = work_.b * c.p.d.kv_heads + work_.h / c.p.d.group();
    return column < c.p.d.value_dim ? c.means[head * c.p.d.value_dim + column] : 0;
  }
  __device__ __forceinline__ void store() {
    for (int i = 0; i * kPanel < c.p.d.value_dim; ++i) {
      store_box(s.query[at_query_.slot][i] + group_ * 64 * kPanelRowBytes, c.out,
                {i * kPanel, work_.tile * Shape::kRows + group_ * 64, work_.h, work_.b});
    }
    commit_stores();
    wait_for_stores<0>();
    s.query_empty[at_query_.slot].arrive();
  }

  const ForwardCall& c;
  Memory& s;
  const int group_, thread_, row_;
  const float to_exponent_;  // from scores to powers of two
  Turn<Shape::kTilesOfQueries> at_query_;
  Turn<Shape::kStages> at_, at_value_;
  Work work_;
  int number_ = 0;  // of the tile of keys at hand
  bool is_last_ = false, has_unseen_ = false, has_grown_ = false;
  float sums_[kDim / 2], max_[2], total_[2];
};

template <class Shape>
__global__ void __launch_bounds__(Shape::kThreads, Shape::kBlocks)
    forward_kernel(const __grid_constant__ ForwardCall call) {
  using Memory = ForwardMemory<Shape>;
  Memory& memory = block_memory<Memory>();
  if (threadIdx.x == 0) memory.init();
  __syncthreads();
  if (threadIdx.x < 128) {
    give_registers<Shape::kFew>();
    if (threadIdx.x < 32) Producer<Shape>(call, memory).run();
  } else {
    take_registers<Shape::kMany>();
    Consumer<Shape>(call, memory).run();
  }
}

}  // namespace maskctl::attention::cuda::hopper
