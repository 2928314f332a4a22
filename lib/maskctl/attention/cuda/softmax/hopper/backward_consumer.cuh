// The warpgroups that compute the products of the backward kernel.
#pragma once

#include "maskctl/attention/cuda/hopper/fragment.cuh"
#include "maskctl/attention/cuda/softmax/hopper/backward_sums.cuh"
#include "maskctl/attention/cuda/softmax/logits.cuh"

namespace maskctl::attention::cuda::hopper {

/// A warpgroup. Of its 64 keys a thread has `row_` and `row_` + 8.
template <class Shape>
class BackwardConsumer {
  using T = typename Shape::Element;
  using Memory = BackwardMemory<Shape>;
  static constexpr int kKeys = Shape::kKeys, kQueries = Shape::kQueries;
  static constexpr int kScores = Shape::kScoreQueries / 2;  // scores per thread
  static constexpr int kSums = Shape::kSumColumns / 2;
  static constexpr int kSumPanels = Shape::kSumColumns / kPanel;
  static constexpr bool kIsWide = Shape::kIsWide;
  /// Whether a warpgroup skips tiles that are closed for its keys. This is possible only if the
  /// warpgroups have different keys.
  static constexpr bool kSkips = !kIsWide && Shape::kWarpgroups > 1;

 public:
  __device__ BackwardConsumer(const BackwardCall& call, Memory& memory, KeyTile tile)
      : call_(call),
        memory_(memory),
        tile_(tile),
        group_(__shfl_sync(~0u, static_cast<int>(threadIdx.x) / 128 - 1, 0)),
        thread_(static_cast<int>(threadIdx.x) % 128),
        row_(thread_ / 32 * 16 + thread_ % 32 / 4),
        key_tile_(kIsWide ? 0 : group_),
        first_query_(kIsWide ? group_ * Shape::kScoreQueries : 0),
        first_panel_(kIsWide ? group_ * kSumPanels : 0),
        keys_left_(static_cast<int>(call.b.p.d.keys) - tile.number * kKeys - key_tile_ * 64) {}

  __device__ __forceinline__ void run() {
    begin();
    for (;; at_.next(), at_out_.next()) {
      memory_.query_full[at_.slot].wait(at_.parity);
      step_ = &memory_.steps[at_.slot];
      if (step_->number < 0) break;
      if (!Shape::kIsGeneral && is_full()) {
        step<false>();
      } else {
        step<true>();
      }
    }
    sync(kSumsOfFirstTaken + group_, 128 + 32);
    if (thread_ == 0) memory_.goals[group_].piece = -1;
    arrive(kSumsOfFirstThere + group_, 128 + 32);
    finish();
  }

 private:
  /// for each of the thread's two rows: which of its cells are open, as own_columns() packs them
  using Words = std::uint32_t[Shape::kMaskColumns][2];
  using Scores = float[kScores];
  using Rounded = std::uint32_t[kScores / 2];
  using Sums = float[kSums];
  using Pieces = float[32 * Shape::kPiecesAtOnce];
  using KeyPanels = unsigned char[Shape::kPanels][Memory::kKeyBytes];
  using QueryPanels = unsigned char[Shape::kPanels][Memory::kQueryBytes];

  __device__ __forceinline__ void begin() {
#pragma unroll
    for (int i = 0; i < kSums; ++i) d_key_[i] = d_value_[i] = 0;
    const int key = thread_ % 64;
    // Reads the mask while the keys are loaded.
    const bool is_unseen = key < keys_left_ && !is_seen(key);
    memory_.key_full.wait(0);
    memory_.value_full.wait(0);
    if (is_unseen) clear(key);
    fence_shared_writes();
    sync(kScoresThere, 128 * Shape::kWarpgroups);
  }

  template <bool kMasked>
  __device__ __forceinline__ void step() {
    Rounded weights, rounded;
    Pieces d_query;
    const bool is_closed = kMasked && kSkips && is_group_closed();
    if (is_closed) {
#pragma unroll
      for (std::uint32_t& pair : rounded) pair = 0;
      memory_.d_out_full[at_out_.slot].wait(at_out_.parity);
    } else {
      make_scores<kMasked>(weights, rounded);
    }
    if constexpr (kIsWide) {
      sync(kScoresTaken, 128 * Shape::kWarpgroups);
      share(weights, memory_.scores[1][0]);
    }
    share(rounded, d_scores_at()[0]);
    if constexpr (!kIsWide) {
      if (!is_closed) accumulate(d_value_, weights, memory_.d_out[at_out_.slot]);
    }
    fence_shared_writes();
    sync(kScoresThere, 128 * Shape::kWarpgroups);
    if constexpr (kIsWide) accumulate(d_value_, memory_.scores[1][0], memory_.d_out[at_out_.slot]);
    multiply_scores(d_query, 0);
    wgmma_wait<1>();
    pin(d_value_);
    release(memory_.d_out_empty[at_out_.slot]);
    if (is_closed) {
      wgmma_wait<0>();
    } else {
      if constexpr (kIsWide) {
        accumulate(d_key_, d_scores_at()[0], memory_.query[at_.slot]);
      } else {
        accumulate(d_key_, rounded, memory_.query[at_.slot]);
      }
      wgmma_wait<1>();
    }
    pin(d_query);
    hand_over(d_query, 0);
#pragma unroll
    for (int piece = Shape::kPiecesAtOnce; piece < Shape::kPieces; ++piece) {
      multiply_scores(d_query, piece);
      wgmma_wait<0>();
      pin(d_query);
      hand_over(d_query, piece);
    }
    wgmma_wait<0>();
    pin(d_key_);
    release(memory_.query_empty[at_.slot]);
  }
  /// Computes the warpgroup's weights and the gradients of its scores.
  template <bool kMasked>
  __device__ __forceinline__ void make_scores(Rounded& weights, Rounded& rounded) {
    Scores scores, d_scores;
    multiply(scores, memory_.key, memory_.query[at_.slot]);
    memory_.d_out_full[at_out_.slot].wait(at_out_.parity);
    multiply(d_scores, memory_.value, memory_.d_out[at_out_.slot]);
    Words words;
    if constexpr (kMasked) read_tile(words);
    if constexpr (Shape::kIsGeneral) {
      wgmma_wait<0>();
      pin(scores), pin(d_scores);
      differentiate_generally(scores, d_scores, words);
    } else {
      wgmma_wait<1>();
      pin(scores);
      to_weights(scores);
      if constexpr (kMasked) close(scores, words);
      // need_now() helps only here: all other variants are 2 to 4 % faster without it.
      if constexpr (!kMasked && Shape::kIsWide) need_now(scores);
      wgmma_wait<0>();
      pin(d_scores);
      differentiate(scores, d_scores);
    }
    round(scores, weights);
    round(d_scores, rounded);
  }

  __device__ __forceinline__ void release(Barrier& empty) {
    if (thread_ % 32 == 0) empty.arrive();  // once per warp, after its own products
  }

  /// to = the warpgroup's keys times its queries (transposed scores), or the warpgroup's values
  /// times its d_out.
  __device__ __forceinline__ void multiply(Scores& to, const KeyPanels& keys,
                                           const QueryPanels& queries) {
    const std::uint64_t a = k_major(shared_address(keys) + key_tile_ * 64 * kPanelRowBytes);
    const std::uint64_t b = k_major(shared_address(queries) + first_query_ * kPanelRowBytes);
    pin(to);
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < Shape::kDim / 16; ++i) {
      const int panel = i / 4, inside = i % 4 * 32;
      wgmma<T, Shape::kScoreQueries, 0, 0>(to, advanced(a, panel * Memory::kKeyBytes + inside),
                                           advanced(b, panel * Memory::kQueryBytes + inside),
                                           i > 0);
    }
    wgmma_commit();
  }
  /// sums += a [64 keys x queries] times the warpgroup's columns of a tile of queries or of d_out.
  /// `a` is in registers, or is a panel in shared memory.
  template <class A>
  __device__ __forceinline__ void accumulate(Sums& sums, const A& a, const QueryPanels& queries) {
    const std::uint64_t b = transposed(shared_address(queries) + first_panel_ * Memory::kQueryBytes,
                                       Memory::kQueryBytes);
    pin(sums);
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < kQueries / 16; ++i) {
      const std::uint64_t rows = advanced(b, i * 16 * kPanelRowBytes);
      if constexpr (kIsWide) {
        wgmma<T, Shape::kSumColumns, 0, 1>(sums, advanced(k_major(shared_address(a)), i * 32), rows,
                                           1);
      } else {
        wgmma<T, Shape::kSumColumns, 1>(sums, a + 4 * i, rows, 1);
      }
    }
    wgmma_commit();
  }
  /// Computes panels of 64 columns of d_query, from panel `first` of the warpgroup's share on. If
  /// two warpgroups share a tile, each computes half of its queries or half of its columns.
  __device__ __forceinline__ void multiply_scores(Pieces& d_query, int first) {
    const std::uint64_t a =
        transposed(shared_address(d_scores_at()[group_ % Shape::kMaskColumns]), Memory::kKeyBytes);
    const std::uint64_t b =
        transposed(shared_address(memory_.key[piece_panel() + first]), Memory::kKeyBytes);
    pin(d_query);
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < kKeys / 16; ++i) {
      wgmma<T, 64 * Shape::kPiecesAtOnce, 1, 1>(d_query, advanced(a, i * 16 * kPanelRowBytes),
                                                advanced(b, i * 16 * kPanelRowBytes), i > 0);
    }
    wgmma_commit();
  }
  __device__ __forceinline__ auto& d_scores_at() const {
    return memory_.scores[kIsWide || Shape::kScoreTiles == 1 ? 0 : at_.slot];
  }
  /// Returns the panel (64 columns of d_query) of the first piece that the warpgroup computes.
  __device__ __forceinline__ int piece_panel() const {
    return kIsWide ? first_panel_ : group_ % Shape::kPanels;
  }

  /// Whether the current tile opens all of its cells, for both warpgroups: they must agree, since
  /// they synchronise in each step.
  __device__ __forceinline__ bool is_full() const {
    bool full = keys_left_ + key_tile_ * 64 >= kKeys;
#pragma unroll
    for (int i = 0; i < Shape::kMaskRows; ++i) {
#pragma unroll
      for (int j = 0; j < Shape::kMaskColumns; ++j) full &= step_->cells[i][j] == kAllCells;
    }
    return __all_sync(~0u, full);
  }
  /// Whether the current tile opens no cell for the warpgroup's keys, so that only the other
  /// warpgroup has work.
  __device__ __forceinline__ bool is_group_closed() const {
    bool closed = true;
#pragma unroll
    for (int j = 0; j < Shape::kMaskColumns; ++j) closed &= step_->cells[key_tile_][j] == kNoCells;
    return __all_sync(~0u, closed);
  }
  /// Reads which cells the current tile opens in the thread's two rows.
  __device__ __forceinline__ void read_tile(Words& words) const {
    const TileTableView& table = table_of(call_.b.p.by_key, tile_.batch, step_->head);
#pragma unroll
    for (int i = 0; i < Shape::kMaskColumns; ++i) {
      const Cells cells = step_->cells[key_tile_][i];
      const std::uint64_t* const payload = payload_of(table, cells);
#pragma unroll
      for (int side = 0; side < 2; ++side) {
        const int row = row_ + 8 * side;
        const std::uint64_t open =
            row < keys_left_ ? open_word(cells, payload, table.payload_rows, row) : 0;
        words[i][side] = own_columns(open >> first_query_);
      }
    }
  }

  /// The lse (`which` = 0) or delta (`which` = 1) of the two queries of elements 4 i and 4 i + 1 of
  /// a fragment.
  __device__ __forceinline__ float2 row_values(int which, int i) const {
    return *reinterpret_cast<const float2*>(
        &memory_.rows[at_.slot][i / 8][which][first_query_ + i % 8 * 8 + thread_ % 4 * 2]);
  }

  __device__ __forceinline__ void to_weights(Scores& scores) const {
    const float to_exponent = call_.b.p.scale * kLog2E;
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
  /// Turns d_scores from gradients of the weights into gradients of the scores.
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
  /// Does what to_weights(), close() and differentiate() do, where each weight depends on its
  /// position.
  __device__ __forceinline__ void differentiate_generally(Scores& scores, Scores& d_scores,
                                                          const Words& words) const {
    const SoftmaxParams& p = call_.b.p;
    const int head = step_->head;
#pragma unroll
    for (int i = 0; i < kScores; ++i) {
      const int column = first_query_ + fragment_column(thread_, i), side = i / 2 % 2;
      const Index query = Index{step_->number} * kQueries + column;
      const Index key = Index{tile_.number} * kKeys + key_tile_ * 64 + row_ + 8 * side;
      float weight = 0, kept = 0, derivative = 1, multiplied = 1;
      if (query < p.d.queries && is_open(words, i)) {
        const float s = logit(p, tile_.batch, head, query, key, scores[i], derivative);
        const float2 lse = row_values(0, i / 4);
        weight = exp2_approximate(s * kLog2E - (i % 2 == 0 ? lse.x : lse.y));
        multiplied = multiplier(p, tile_.batch, head, query, key);
        kept = weight * multiplied;
      }
      const float2 delta = row_values(1, i / 4);
      d_scores[i] =
          weight * derivative * (multiplied * d_scores[i] - (i % 2 == 0 ? delta.x : delta.y));
      scores[i] = kept;
    }
  }
  __device__ __forceinline__ void round(const Scores& x, Rounded& pairs) const {
#pragma unroll
    for (int i = 0; i < kScores / 2; ++i) pairs[i] = rounded_pair<T>(x[2 * i], x[2 * i + 1]);
  }

  /// Makes the compiler compute the weights before the following wait for products, and not after
  /// it: a branch depends on all weights. The branch is never taken, since no weight is negative.
  __device__ static __forceinline__ void need_now(const Scores& weights) {
    std::uint32_t all = 0;
#pragma unroll
    for (int i = 0; i < kScores; ++i) all |= __float_as_uint(weights[i]);
    if (static_cast<std::int32_t>(all) < 0) __nanosleep(1);
  }

  /// Stores the warpgroup's part of a tile [keys x queries] in shared memory, where both warpgroups
  /// read it.
  __device__ __forceinline__ void share(const Rounded& x, unsigned char* panels) const {
    store_fragment(panels, Memory::kKeyBytes, key_tile_ * 64, first_query_, x);
  }
  /// Hands the warpgroup's pieces of d_query, from number `first` on, to the warp that adds them to
  /// global memory.
  __device__ __forceinline__ void hand_over(const Pieces& d_query, int first) {
#pragma unroll
    for (int piece = 0; piece < Shape::kPiecesAtOnce; ++piece) {
      sync(kSumsOfFirstTaken + group_, 128 + 32);
      keep_piece(d_query + 32 * piece, memory_.d_query[group_]);
      if (thread_ == 0) {
        const int row = tile_.batch * static_cast<int>(call_.b.p.d.q_heads) + step_->head;
        const int tile = step_->number * Shape::kMaskColumns + group_ % Shape::kMaskColumns;
        const int nth = first + piece;
        memory_.goals[group_] = {
            (row * call_.query_tiles + tile) * Shape::kPanels + piece_panel() + nth, step_->after,
            nth == 0, nth == Shape::kPieces - 1};
      }
      fence_shared_writes();
      arrive(kSumsOfFirstThere + group_, 128 + 32);
    }
  }

  /// Sets a key and its value to zero: 0 times their content could be NaN. Several threads share
  /// the work on one key.
  __device__ __forceinline__ void clear(int key) {
    constexpr int kThreadsOfKey = kIsWide ? 4 : 2;
    const int row = (key_tile_ * 64 + key) * kPanelRowBytes;
    for (int i = (kIsWide ? 2 * group_ : 0) + thread_ / 64; i < Shape::kPanels * 8;
         i += kThreadsOfKey) {
      *reinterpret_cast<uint4*>(memory_.key[i / 8] + row + i % 8 * 16) = make_uint4(0, 0, 0, 0);
      *reinterpret_cast<uint4*>(memory_.value[i / 8] + row + i % 8 * 16) = make_uint4(0, 0, 0, 0);
    }
  }
  /// Whether any query in any query head of this key head sees the key.
  __device__ bool is_seen(int key) const {
    const Dims& d = call_.b.p.d;
    const TileTableView* previous = nullptr;
    for (int head = tile_.kv_head * call_.group; head < (tile_.kv_head + 1) * call_.group; ++head) {
      const TileTableView& table = table_of(call_.b.p.by_key, tile_.batch, head);
      if (&table == previous) continue;
      previous = &table;
      TileRowWalk walk(table, Index{tile_.number} * Shape::kMaskRows + key_tile_,
                       ceil_div(d.keys, kTile));
      while (walk.next() != TileRowWalk::kNone) {
        const Cells cells = walk.take(table, walk.next());
        if (open_word(cells, payload_of(table, cells), table.payload_rows, key) != 0) return true;
      }
    }
    return false;
  }

  /// Writes d_key and d_value, or this part's sums if several blocks share the tile.
  __device__ __forceinline__ void finish() {
    constexpr SumsOfPart kSumsOf{Shape::kMaskRows, Shape::kPanels};
    const KeyPart& part = call_.parts[blockIdx.x];
#pragma unroll
    for (int i = 0; i < kSumPanels; ++i) {
      const int panel = first_panel_ + i;
      if (part.of > 1) {
        const auto at = [&](bool is_value) {
          return call_.sums + kSumsOf.piece(part.sums, is_value, key_tile_, panel) * kPieceFloats;
        };
        keep_piece(d_key_ + 32 * i, at(false));
        keep_piece(d_value_ + 32 * i, at(true));
      } else {
        const Index first = Index{tile_.number} * kKeys + key_tile_ * 64;
        store_gradient<T, false>(call_, tile_, first, panel, d_key_ + 32 * i);
        store_gradient<T, true>(call_, tile_, first, panel, d_value_ + 32 * i);
      }
    }
  }

  const BackwardCall& call_;
  Memory& memory_;
  const KeyTile tile_;
  const int group_, thread_, row_;
  /// The warpgroup's first tile of 64 keys, its first query, and its first panel of columns.
  const int key_tile_, first_query_, first_panel_;
  const int keys_left_;  // how many keys exist from the warpgroup's first key on
  Turn<Shape::kStages> at_;
  Turn<Shape::kOutStages> at_out_;
  const typename Memory::Step* step_ = nullptr;
  Sums d_key_, d_value_;
};

}  // namespace maskctl::attention::cuda::hopper
