// Gradients of keys and values of attention over listed blocks: a warpgroup takes 64 keys of a
// block and goes through the tokens whose lists name the block, in pieces of 16 query heads of a
// token, four pieces at a time.
//
// A 64 x 64 tile of scores has the keys as rows and the heads of the four pieces as columns. The
// copy engine loads the queries and the gradients of outputs of these pieces. Two blocks of
// threads, of one warpgroup each, share a multiprocessor: one multiplies while the other computes
// weights.
#include "maskctl/attention/cuda/blocks/hopper/gradients.h"
#include "maskctl/attention/cuda/blocks/hopper/token_rows.cuh"

namespace maskctl::attention::cuda::hopper {
namespace {

constexpr int kThreads = 128, kBlocksAtOnce = 2, kSlots = 2;
// A step multiplies the queries of kPieces pieces. A piece is kRows query heads of one token.
constexpr int kQueries = 64, kPieces = kQueries / kRows;
constexpr int kPieceBytes = kRows * kPanelRowBytes;

struct KeyGradientCall {
  BlockCall c;
  CUtensorMap key, value;    // made by keys_map()
  CUtensorMap query, d_out;  // made by heads_map()
  const KeyTile* tiles;
  const KeyReader* readers;
  const RowTerms* terms;
  KeySums to;
  Index head_tiles;
};

template <int kDim>
struct KeyGradientMemory {
  KeyPanels<kDim> key, value;
  struct Slot {
    KeyPanels<kDim> query, d_out;
  } slots[kSlots];
  RowTerms terms[kSlots][kQueries];
  KeyReader readers[kSlots][kPieces];  // the token of each piece; -1 where there is no piece
  Barrier keys_full, full[kSlots];
};
static_assert(kQueries == kKeys);  // so KeyPanels has room for queries too

template <class T, int kDim>
class KeyGradientWarpgroup {
  using Memory = KeyGradientMemory<kDim>;
  using Panels = KeyPanels<kDim>;
  using Scores = float[kQueries / 2];
  using Rounded = std::uint32_t[kQueries / 4];
  using Sums = float[kDim / 2];

 public:
  __device__ KeyGradientWarpgroup(const KeyGradientCall& call, Memory& memory, const KeyTile& tile)
      : call_(call),
        memory_(memory),
        tile_(tile),
        thread_(static_cast<int>(threadIdx.x)),
        row_(fragment_row(thread_, 0)),
        pieces_(tile.readers.size() * call.head_tiles) {}

  __device__ __forceinline__ void run() {
    Scores scores, d_scores;
    Sums d_key, d_value;
#pragma unroll
    for (int i = 0; i < kDim / 2; ++i) d_key[i] = d_value[i] = 0;
    load_keys();
    const int steps = __shfl_sync(~0u, static_cast<int>(ceil_div(pieces_, kPieces)), 0);
    for (int slot = 0; slot < kSlots && slot < steps; ++slot) load_queries(slot, slot);
    memory_.keys_full.wait(0);
    memory_.full[0].wait(0);
    multiply(scores, memory_.key, memory_.slots[0].query);
    Turn<kSlots> turn;
    for (int step = 0;;) {
      const int slot = turn.slot;
      const bool is_open = all_open(slot);
      multiply(d_scores, memory_.value, memory_.slots[slot].d_out);
      wgmma_wait<1>();
      pin(scores);
      Rounded weights, rounded;
      if (is_open) {
        to_weights<false>(slot, scores);
      } else {
        to_weights<true>(slot, scores);
      }
      round_fragment<T>(scores, weights);
      wgmma_wait<0>();
      pin(d_scores);
      accumulate(d_value, weights, memory_.slots[slot].d_out);
      if (is_open) {
        differentiate<false>(slot, scores, d_scores);
      } else {
        differentiate<true>(slot, scores, d_scores);
      }
      round_fragment<T>(d_scores, rounded);
      accumulate(d_key, rounded, memory_.slots[slot].query);
      turn.next();
      if (++step == steps) break;
      memory_.full[turn.slot].wait(turn.parity);
      multiply(scores, memory_.key, memory_.slots[turn.slot].query);
      wgmma_wait<1>();
      pin(d_value), pin(d_key);
      __syncthreads();
      if (step + 1 < steps) load_queries(step + 1, slot);
    }
    wgmma_wait<0>();
    pin(d_value), pin(d_key);
    store(d_key, d_value);
  }

 private:
  __device__ __forceinline__ void load_keys() {
    if (thread_ != 0) return;
    memory_.keys_full.arrive_expecting(2 * sizeof(Panels));
    const int row = static_cast<int>(tile_.first + tile_.keys.begin);
    for (int i = 0; i < kDim / kPanel; ++i) {
      const Corner at{i * kPanel, row, static_cast<int>(tile_.u), 0};
      load_box(memory_.key[i], call_.key, at, memory_.keys_full, kEvictNormally);
      load_box(memory_.value[i], call_.value, at, memory_.keys_full, kEvictNormally);
    }
  }
  /// Loads the pieces of a step: thread n loads piece n. Past the last piece of the tile, zeros are
  /// loaded.
  __device__ __forceinline__ void load_queries(int step, int slot) {
    if (thread_ >= kPieces) return;
    const Index n = Index{step} * kPieces + thread_, reader = n / call_.head_tiles;
    const bool exists = n < pieces_;
    const KeyReader found = exists ? call_.readers[tile_.readers.begin + reader] : KeyReader{-1, 0};
    memory_.readers[slot][thread_] = found;
    const Index head_tile = n - reader * call_.head_tiles;
    const Index row = exists ? (tile_.first + found.token) * call_.c.kv_heads + tile_.u
                             : call_.c.tokens * call_.c.kv_heads;
    constexpr int kTermBytes = kRows * sizeof(RowTerms);
    Barrier& full = memory_.full[slot];
    full.arrive_expecting(2 * (kDim / kPanel) * kPieceBytes + (exists ? kTermBytes : 0));
    for (int i = 0; i < kDim / kPanel; ++i) {
      const Corner at{i * kPanel, static_cast<int>(head_tile) * kRows, static_cast<int>(row), 0};
      const int to = thread_ * kPieceBytes;
      load_box(memory_.slots[slot].query[i] + to, call_.query, at, full, kEvictNormally);
      load_box(memory_.slots[slot].d_out[i] + to, call_.d_out, at, full, kEvictNormally);
    }
    if (!exists) return;
    load_bytes(memory_.terms[slot] + thread_ * kRows,
               call_.terms + (row * call_.head_tiles + head_tile) * kRows, kTermBytes, full);
  }

  /// to = the keys times the transposed queries, or the values times the transposed d_out.
  __device__ __forceinline__ void multiply(Scores& to, const Panels& keys, const Panels& queries) {
    const std::uint64_t a = k_major(shared_address(keys)), b = k_major(shared_address(queries));
    pin(to);
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < kDim / 16; ++i) {
      const int at = i / 4 * kTileBytes + i % 4 * 32;
      wgmma<T, kQueries, 0, 0>(to, advanced(a, at), advanced(b, at), i > 0);
    }
    wgmma_commit();
  }
  /// sums += a [64 keys x queries] times the queries or d_out.
  __device__ __forceinline__ void accumulate(Sums& sums, const Rounded& a, const Panels& queries) {
    const std::uint64_t b = transposed(shared_address(queries), kTileBytes);
    pin(sums);
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < kQueries / 16; ++i) {
      wgmma<T, kDim, 1>(sums, a + 4 * i, advanced(b, i * 16 * kPanelRowBytes), 1);
    }
    wgmma_commit();
  }

  /// Whether a slot of shared memory holds all kPieces pieces (16 query heads of one token each),
  /// and the tokens of all pieces see all keys of the tile and count each key once.
  __device__ __forceinline__ bool all_open(int slot) const {
    bool open = true;
#pragma unroll
    for (const KeyReader& reader : memory_.readers[slot]) {
      open &= reader.token >= tile_.keys.begin + kKeys - 1 && reader.times == 1;
    }
    return __all_sync(~0u, open);
  }
  /// Returns the RowTerms of two queries: lse and delta of the query that element 4 i of a fragment
  /// belongs to, then lse and delta of the query of element 4 i + 1.
  __device__ __forceinline__ float4 terms(int slot, int i) const {
    return *reinterpret_cast<const float4*>(&memory_.terms[slot][i * 8 + thread_ % 4 * 2]);
  }
  /// Returns how often a token counts a key in its softmax; 0 if it does not see the key. Elements
  /// 4 i to 4 i + 3 of a fragment belong to the token; the key is that of the thread's row `side`,
  /// 0 or 1.
  __device__ __forceinline__ int times(int slot, int i, int side) const {
    const KeyReader& reader = memory_.readers[slot][i / 2];
    return tile_.keys.begin + row_ + 8 * side <= reader.token ? reader.times : 0;
  }
  template <bool kMasked>
  __device__ __forceinline__ void to_weights(int slot, Scores& scores) const {
    const float to_exponent = call_.c.scale * kLog2E;
#pragma unroll
    for (int i = 0; i < kQueries / 8; ++i) {
      const float4 lse = terms(slot, i);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        float& x = scores[4 * i + j];
        x = exp2_approximate(fmaf(x, to_exponent, j % 2 == 0 ? -lse.x : -lse.z));
        if constexpr (kMasked) {
          const int n = times(slot, i, j / 2);
          x = n == 0 ? 0 : x * static_cast<float>(n);
        }
      }
    }
  }
  /// Turns d_scores from gradients of the weights into gradients of the scores; the factor `scale`
  /// is applied later.
  template <bool kMasked>
  __device__ __forceinline__ void differentiate(int slot, const Scores& weights,
                                                Scores& d_scores) const {
#pragma unroll
    for (int i = 0; i < kQueries / 8; ++i) {
      const float4 delta = terms(slot, i);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        float& x = d_scores[4 * i + j];
        x = weights[4 * i + j] * (x - (j % 2 == 0 ? delta.y : delta.w));
        if constexpr (kMasked) x = times(slot, i, j / 2) == 0 ? 0 : x;
      }
    }
  }

  __device__ __forceinline__ void store(const Sums& d_key, const Sums& d_value) const {
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      const int key = row_ + 8 * side;
      if (key >= tile_.keys.size()) continue;
      if (tile_.slot >= 0) {
        float* const row = call_.to.partial + (tile_.slot * kKeys + key) * 2 * kDim;
        store_row(d_key, side, call_.c.scale, row);
        store_row(d_value, side, 1, row + kDim);
      } else {
        const Index row =
            ((tile_.first + tile_.keys.begin + key) * call_.c.kv_heads + tile_.u) * kDim;
        store_row(d_key, side, call_.c.scale, static_cast<T*>(call_.to.d_key.data) + row);
        store_row(d_value, side, 1, static_cast<T*>(call_.to.d_value.data) + row);
      }
    }
  }
  template <class To>
  __device__ __forceinline__ void store_row(const Sums& sums, int side, float factor,
                                            To* row) const {
#pragma unroll
    for (int i = 0; i < kDim / 8; ++i) {
      const float low = sums[4 * i + 2 * side] * factor, high = sums[4 * i + 2 * side + 1] * factor;
      To* const to = row + i * 8 + thread_ % 4 * 2;
      if constexpr (std::is_same_v<To, float>) {
        *reinterpret_cast<float2*>(to) = make_float2(low, high);
      } else {
        *reinterpret_cast<std::uint32_t*>(to) = rounded_pair<T>(low, high);
      }
    }
  }

  const KeyGradientCall& call_;
  Memory& memory_;
  const KeyTile& tile_;
  const int thread_, row_;
  const Index pieces_;  // number of pieces (16 query heads) of all tokens that read the tile
};

template <class T, int kDim>
__global__ void __launch_bounds__(kThreads, kBlocksAtOnce)
    key_gradients(const __grid_constant__ KeyGradientCall call) {
  using Memory = KeyGradientMemory<kDim>;
  Memory& memory = block_memory<Memory>();
  if (threadIdx.x == 0) {
    memory.keys_full.init(1);
    for (Barrier& full : memory.full) full.init(kPieces);
    fence_barriers();
  }
  __syncthreads();
  const KeyTile tile = call.tiles[blockIdx.x];
  KeyGradientWarpgroup<T, kDim>(call, memory, tile).run();
}

/// A tensor map that reads queries, or their d_out, as [B * T * Hkv,group,D], in boxes of kRows
/// heads of a group.
CUtensorMap heads_map(const TensorView& array, const BlockCall& c) {
  const HeadsView view{array.data(), array.dtype(), c.tokens * c.q_heads() * c.dim, c.dim,
                       c.group * c.dim};
  return tensor_map(view, 1, c.group, c.tokens * c.kv_heads, c.dim, kRows);
}

}  // namespace

void differentiate_keys(Workspace& workspace, const BlockProblem& p, const BlockGradientPlan& plan,
                        const SoftmaxBackwardInputs& inputs, const RowTerms* terms,
                        const KeySums& to) {
  const BlockCall c(p, plan.lists());
  const KeyGradientCall call{c,
                             keys_map(p.key, c),
                             keys_map(p.value, c),
                             heads_map(p.query, c),
                             heads_map(inputs.d_out, c),
                             plan.tiles(),
                             plan.readers(),
                             terms,
                             to,
                             head_tiles_of(c)};
  with_16_bits(p.query.dtype(), [&]<class T>(std::type_identity<T>) {
    with_dim(c.dim, [&]<int kDim>(std::integral_constant<int, kDim>) {
      launch("blocks_backward of keys on tensor cores", key_gradients<T, kDim>,
             static_cast<unsigned>(plan.tile_count()), kThreads,
             block_bytes<KeyGradientMemory<kDim>, kBlocksAtOnce>(), workspace.stream(), call);
    });
  });
}

}  // namespace maskctl::attention::cuda::hopper
