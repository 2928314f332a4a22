// Selects blocks of keys on tensor cores. A warp takes one or two neighbouring tokens and 16 query
// heads of one key head. For each token, its query heads are the rows of a matrix product and the
// mean keys of blocks are the columns.
//
// Mean keys are split into two float16 parts (mean_parts.cuh), and queries are scaled to the range
// of float16, so that scores are as precise as f32 sums. The warps of a block of threads take
// neighbouring tokens and share tiles of mean keys in shared memory. They go through the mean keys
// twice: first for the softmax maximum and sum of each head, then for the weights, which are summed
// over the heads.
#include "maskctl/attention/cuda/blocks/mean_parts.cuh"
#include "maskctl/attention/cuda/blocks/row_scale.cuh"
#include "maskctl/attention/cuda/blocks/select_on_tensor_cores.h"
#include "maskctl/attention/cuda/blocks/selection.cuh"
#include "maskctl/attention/cuda/hopper/powers.cuh"
#include "maskctl/attention/cuda/unit_copy.cuh"
#include "maskctl/attention/cuda/warp_mma.cuh"

namespace maskctl::attention::cuda {
namespace {

using hopper::exp2_approximate, hopper::kLog2E;

constexpr int kWarps = 4, kThreads = 32 * kWarps, kRows = 16;

template <int kDim>
struct Shape {
  static constexpr int kOwn = kDim > 128 ? 1 : 2;  // tokens per warp
  static constexpr int kTokens = kWarps * kOwn;    // tokens per block of threads
  static constexpr int kPanels = 4 / kOwn;         // panels of 8 means, scored at a time
  static constexpr int kBlocksAtOnce = kDim > 64 ? 3 : 4;
};

template <int kDim>
struct Call {
  SelectionCall c;
  MeanParts<kDim> means;
  Index token_tiles;
  float* importance;  // [blocks of threads, kTokens, most_blocks]
};

/// Iterates several times over the tiles of mean keys that the tokens of a block of threads see.
/// While one tile is read, the next one is copied to shared memory.
template <int kDim>
class MeanWalk {
 public:
  using Tile = MeanTile<kDim>;
  using Memory = Tile[2];

  /// The walk goes `times` times over `count` tiles: for_each() must be called as many times. All
  /// threads of the block must call the constructor and for_each().
  __device__ MeanWalk(Memory& memory, const Tile* tiles, int count, int times)
      : memory_(memory), tiles_(tiles), count_(count), left_(count * times) {
    if (left_ == 0) return;
    __syncthreads();  // until all warps have read what an earlier walk copied
    copy(0);
  }
  /// Calls f(tile, n) for each tile n.
  template <class F>
  __device__ __forceinline__ void for_each(F&& f) {
    for (int n = 0; n < count_; ++n) {
      const Tile& tile = memory_[slot_];
      await_copies<0>();
      __syncthreads();
      slot_ ^= 1;
      if (--left_ > 0) copy(n + 1 < count_ ? n + 1 : 0);
      f(tile, n);
    }
  }

 private:
  __device__ void copy(int n) {
    constexpr int kUnit = 16, kUnits = sizeof(Tile) / kUnit;
    const std::uint32_t to = shared_address(memory_ + slot_);
    const unsigned char* const from = reinterpret_cast<const unsigned char*>(tiles_ + n);
    for (int i = threadIdx.x; i < kUnits; i += kThreads) {
      copy_unit(to + i * kUnit, from + i * kUnit, true);
    }
    commit_copies();
  }

  Memory& memory_;
  const Tile* const tiles_;
  const int count_;
  int left_, slot_ = 0;
};

/// The tokens of a warp and up to 16 of their query heads. For each token, the heads are the rows
/// of a matrix product; rows past the last head repeat its query and get weights of 0. A lane has
/// row lane / 4 (side 0) and row lane / 4 + 8 (side 1).
template <int kDim>
class TokenHeads {
  static constexpr int kOwn = Shape<kDim>::kOwn, kPanels = Shape<kDim>::kPanels;
  using Tile = MeanTile<kDim>;
  using Scores = float[kOwn][kPanels][4];

 public:
  /// Token n of the warp sees the mean keys [begin[n], end[n]), numbered from the first one of the
  /// walk.
  __device__ TokenHeads(const SelectionCall& c, Index token, Index u, const int (&begin)[kOwn],
                        const int (&end)[kOwn])
      : c_(c), first_row_(c.query_row(token, u, 0)), begin_(begin), end_(end) {}

  /// Reads the queries of 16 heads from `first_head` on, and resets the maxima and sums for them.
  __device__ void begin(int first_head) {
    first_head_ = first_head;
    with_type(c_.query.dtype, [&]<class T>(const T*) {
      // The queries are never float32.
      if constexpr (sizeof(T) == 2) {
#pragma unroll
        for (int n = 0; n < kOwn; ++n) {
          for (int side = 0; side < 2; ++side) read_queries<T>(n, side);
        }
      }
    });
#pragma unroll
    for (int i = 0; i < 2 * kOwn; ++i) top_[i / 2][i % 2] = -INFINITY, sum_[i / 2][i % 2] = 0;
  }

  /// Adds the scores of a tile of mean keys to the softmax maximum and sum of each head. Until
  /// end_sums(), each lane has the maximum and sum of its own columns only.
  __device__ __forceinline__ void add_scores(const Tile& tile, int first_column) {
    for_each_panel(tile, first_column, [&](const Scores& scores, int) {
#pragma unroll
      for (int i = 0; i < 2 * kOwn; ++i) {
        const int n = i / 2, side = i % 2;
        float top = top_[n][side];
#pragma unroll
        for (int k = 0; k < 2 * kPanels; ++k) {
          top = fmaxf(top, scores[n][k / 2][2 * side + k % 2]);
        }
        const float shift = top == -INFINITY ? 0 : top;
        float sum = sum_[n][side] * exp2_approximate(__fsub_rn(top_[n][side], shift));
#pragma unroll
        for (int k = 0; k < 2 * kPanels; ++k) {
          sum += exp2_approximate(__fsub_rn(scores[n][k / 2][2 * side + k % 2], shift));
        }
        top_[n][side] = top, sum_[n][side] = sum;
      }
    });
  }
  /// To be called after the last tile: merges the maxima and sums of the four lanes of a row, and
  /// replaces the sums by their inverses.
  __device__ __forceinline__ void end_sums() {
#pragma unroll
    for (int i = 0; i < 2 * kOwn; ++i) {
      float &top = top_[i / 2][i % 2], &sum = sum_[i / 2][i % 2];
      const float all = max_of_lanes<4>(top), shift = all == -INFINITY ? 0 : all;
      sum = sum_of_lanes<4>(sum * exp2_approximate(__fsub_rn(top, shift)));
      top = shift;
      sum = first_head_ + lane() / 4 + i % 2 * 8 < c_.group ? 1 / sum : 0;
    }
  }
  /// Adds the softmax weights of a tile of mean keys, summed over these heads, to the importance of
  /// the blocks, or stores them if these heads are the first. `importance` has c.most_blocks
  /// entries for each token.
  __device__ __forceinline__ void add_weights(const Tile& tile, int first_column,
                                              float* importance) const {
    for_each_panel(tile, first_column, [&](const Scores& scores, int column) {
      float weights[8];
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const int n = i / 2 / kPanels, panel = i / 2 % kPanels;
        float weight = 0;
#pragma unroll
        for (int side = 0; side < 2; ++side) {
          const float x = scores[n][panel][2 * side + i % 2];
          weight += exp2_approximate(__fsub_rn(x, top_[n][side])) * sum_[n][side];
        }
        weights[i] = weight;
      }
      const int i = sum_over_heads(weights);
      const int n = i / 2 / kPanels, own = column + i / 2 % kPanels * 8 + lane() % 4 * 2 + i % 2;
      const int begin = of_token(begin_, n);
      if (own >= begin && own < of_token(end_, n)) {
        float& to = importance[n * c_.most_blocks + own - begin];
        to = first_head_ == 0 ? weights[0] : to + weights[0];
      }
      __syncwarp();  // products need all lanes again
    });
  }

 private:
  __device__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }
  __device__ static int of_token(const int (&x)[kOwn], int n) {
    return n == 0 ? x[0] : x[kOwn - 1];
  }

  template <class T>
  __device__ __forceinline__ void read_queries(int n, int side) {
    auto& units = queries_[n];
    const Index last = c_.group - 1, h = first_head_ + lane() / 4 + side * 8;
    const Index number = first_row_ + n * c_.q_heads() + (h < last ? h : last);
    const T* const row = static_cast<const T*>(c_.query.data) + number * c_.dim;
    unsigned greatest = 0;
#pragma unroll
    for (int i = 0; i < kDim / 32; ++i) {
      const int first = i * 32 + lane() % 4 * 8;
      units[i][side] = make_uint4(0, 0, 0, 0);
      if (end_[n] > begin_[n] && first < c_.dim) {
        units[i][side] = *reinterpret_cast<const uint4*>(row + first);
      }
      for_each_pair<T>(units[i][side], [&](float x, float y, std::uint32_t) {
        const unsigned bits[2] = {magnitude_bits(x), magnitude_bits(y)};
        for (const unsigned b : bits) greatest = greatest > b ? greatest : b;
      });
    }
    const RowScale scale(greatest_of_lanes<4>(greatest));
    const float factor = scale.to_half();
#pragma unroll
    for (int i = 0; i < kDim / 32; ++i) {
      for_each_pair<T>(units[i][side], [&](float x, float y, std::uint32_t& pair) {
        pair = rounded_pair<__half>(x * factor, y * factor);
      });
    }
    const float to_exponent = c_.scale * kLog2E * RowScale::kOfProduct;
    factor_[n][side] = scale.is_finite() ? scale.power() * to_exponent : NAN;
  }
  /// Calls f(low, high, pair) for the four pairs of 16-bit elements in a unit of 16 bytes: both
  /// elements as float, and a reference to their bits.
  template <class T, class F>
  __device__ __forceinline__ static void for_each_pair(uint4& unit, F&& f) {
    std::uint32_t* const pairs[4] = {&unit.x, &unit.y, &unit.z, &unit.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const T* const elements = reinterpret_cast<const T*>(pairs[i]);
      f(to_float(elements[0]), to_float(elements[1]), *pairs[i]);
    }
  }

  /// Calls f(scores, column) for every kPanels panels (of 8 mean keys) of the tile of which a token
  /// of the warp sees some. `column` is the number of their first mean key in the walk. Scores are
  /// exponents of two, and -inf for mean keys that a token does not see.
  template <class F>
  __device__ __forceinline__ void for_each_panel(const Tile& tile, int first_column, F&& f) const {
    constexpr int kColumns = 8 * kPanels;
#pragma unroll 1
    for (int first = 0; first < kMeans; first += kColumns) {
      const int column = first_column + first;
      if (!sees(column, kColumns)) continue;
      Scores scores = {};
      multiply_queries(tile, first / 8, scores);
#pragma unroll
      for (int panel = 0; panel < kPanels; ++panel) {
        const int own = first + 8 * panel + lane() % 4 * 2;
        const float2 power = *reinterpret_cast<const float2*>(tile.powers + own);
#pragma unroll
        for (int i = 0; i < 4 * kOwn; ++i) {
          float& x = scores[i / 4][panel][i % 4];
          x = x * factor_[i / 4][i / 2 % 2] * (i % 2 == 0 ? power.x : power.y);
        }
      }
      close_unseen(column, scores);
      f(scores, column);
    }
  }
  __device__ bool sees(int column, int columns) const {
    bool any = false;
#pragma unroll
    for (int n = 0; n < kOwn; ++n) any = any || (column < end_[n] && column + columns > begin_[n]);
    return any;
  }
  /// Adds to the scores the products of the scaled queries and the scaled mean keys of kPanels
  /// panels.
  __device__ __forceinline__ void multiply_queries(const Tile& tile, int first_panel,
                                                   Scores& scores) const {
#pragma unroll
    for (int part = 0; part < 2; ++part) {
#pragma unroll
      for (int i = 0; i < kDim / 32; ++i) {
#pragma unroll
        for (int panel = 0; panel < kPanels; ++panel) {
          const uint4 b = tile.units[first_panel + panel][part][i][lane()];
#pragma unroll
          for (int n = 0; n < kOwn; ++n) {
            const uint4 &x = queries_[n][i][0], &y = queries_[n][i][1];
            multiply<__half>(scores[n][panel], {x.x, y.x, x.y, y.y}, {b.x, b.y});
            multiply<__half>(scores[n][panel], {x.z, y.z, x.w, y.w}, {b.z, b.w});
          }
        }
      }
    }
  }
  __device__ __forceinline__ void close_unseen(int column, Scores& scores) const {
#pragma unroll
    for (int n = 0; n < kOwn; ++n) {
      if (column >= begin_[n] && column + 8 * kPanels <= end_[n]) continue;
#pragma unroll
      for (int i = 0; i < 4 * kPanels; ++i) {
        const int own = column + i / 4 * 8 + lane() % 4 * 2 + i % 2;
        if (own < begin_[n] || own >= end_[n]) scores[n][i / 4][i % 4] = -INFINITY;
      }
    }
  }
  /// Sums each of the 8 numbers x[i] over the 8 lanes that have the same columns but different
  /// heads. Each of these lanes gets one of the sums in x[0], and returns its index i. All sums add
  /// the lanes in the same order.
  __device__ __forceinline__ static int sum_over_heads(float (&x)[8]) {
    int which = 0;
#pragma unroll
    for (int half = 4, bit = 4; half > 0; half /= 2, bit *= 2) {
      const bool upper = (lane() & bit) != 0;
#pragma unroll
      for (int i = 0; i < half; ++i) {
        const float kept = upper ? x[i + half] : x[i], given = upper ? x[i] : x[i + half];
        x[i] = kept + __shfl_xor_sync(~0u, given, bit);
      }
      which += upper ? half : 0;
    }
    return which;
  }

  const SelectionCall& c_;
  const Index first_row_;  // index of the first token's first head in [B,T,Hq]
  const int (&begin_)[kOwn], (&end_)[kOwn];
  int first_head_ = 0;
  uint4 queries_[kOwn][kDim / 32][2];
  // Factors that turn the products of each row into scores, except for the scales of the mean keys.
  float factor_[kOwn][2];
  float top_[kOwn][2], sum_[kOwn][2];
};

/// Selects blocks of keys for kTokens tokens from `first_token` on, in key head u.
template <int kDim>
__device__ void select_for(const Call<kDim>& call, typename MeanWalk<kDim>::Memory& memory, Index u,
                           Index first_token, float* importance) {
  constexpr int kOwn = Shape<kDim>::kOwn, kTokens = Shape<kDim>::kTokens;
  const SelectionCall& c = call.c;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  // The index of the warp's first token among the kTokens tokens.
  const int own = static_cast<int>(threadIdx.x) / 32 * kOwn;
  // Each lane looks up one token. The walk covers all mean keys from the first to the last one that
  // any of the tokens sees.
  const Candidates of_lane(c, first_token + lane % kTokens);
  Index begin = of_lane.seen > 0 ? of_lane.means : INT64_MAX;
  Index end = of_lane.seen > 0 ? of_lane.means + of_lane.seen : 0;
  for (int bit = 1; bit < kTokens; bit *= 2) {
    const Index other_begin = __shfl_xor_sync(~0u, begin, bit);
    const Index other_end = __shfl_xor_sync(~0u, end, bit);
    begin = begin < other_begin ? begin : other_begin, end = end > other_end ? end : other_end;
  }
  const Index first_tile = begin < end ? begin / kMeans : 0;
  const int tiles = static_cast<int>(ceil_div(end, kMeans) - first_tile);
  const int seen_by_lane = static_cast<int>(of_lane.seen);
  const int begin_of_lane =
      of_lane.seen > 0 ? static_cast<int>(of_lane.means - first_tile * kMeans) : 0;
  int begins[kOwn], ends[kOwn], blocks[kOwn];
#pragma unroll
  for (int n = 0; n < kOwn; ++n) {
    begins[n] = __shfl_sync(~0u, begin_of_lane, own + n);
    ends[n] = begins[n] + __shfl_sync(~0u, seen_by_lane, own + n);
    blocks[n] = __shfl_sync(~0u, static_cast<int>(of_lane.blocks), own + n);
  }

  TokenHeads<kDim> heads(c, first_token + own, u, begins, ends);
  float* const own_importance = importance + own * c.most_blocks;
  const int head_tiles = static_cast<int>(ceil_div(c.group, kRows));
  MeanWalk<kDim> walk(memory, call.means.tiles + u * call.means.tiles_of_head + first_tile, tiles,
                      2 * head_tiles);
  for (int i = 0; i < head_tiles && tiles > 0; ++i) {
    heads.begin(i * kRows);
    walk.for_each([&](const auto& tile, int n) { heads.add_scores(tile, n * kMeans); });
    heads.end_sums();
    walk.for_each(
        [&](const auto& tile, int n) { heads.add_weights(tile, n * kMeans, own_importance); });
  }
  __syncwarp();
#pragma unroll
  for (int n = 0; n < kOwn; ++n) {
    const Index token = first_token + own + n;
    if (token >= c.tokens) continue;
    choose_blocks(c, own_importance + n * c.most_blocks, blocks[n], c.selected_by(token, u));
  }
}

template <int kDim>
__global__ void __launch_bounds__(kThreads, Shape<kDim>::kBlocksAtOnce)
    select(const __grid_constant__ Call<kDim> call) {
  constexpr int kTokens = Shape<kDim>::kTokens;
  auto& memory = *reinterpret_cast<typename MeanWalk<kDim>::Memory*>(dynamic_shared());
  float* const importance = call.importance + Index{blockIdx.x} * kTokens * call.c.most_blocks;
  // Takes the last tokens first, since they see the most blocks.
  for (Index i = blockIdx.x; i < call.token_tiles * call.c.kv_heads; i += gridDim.x) {
    const Index tile = call.token_tiles - 1 - i % call.token_tiles;
    select_for(call, memory, i / call.token_tiles, tile * kTokens, importance);
  }
}

template <int kDim>
void launch_selection(Workspace& workspace, const SelectionCall& c, Index means) {
  constexpr int kTokens = Shape<kDim>::kTokens;
  const Index token_tiles = ceil_div(c.tokens, kTokens), floats = kTokens * c.most_blocks;
  const Index blocks = selecting_blocks(token_tiles * c.kv_heads, floats, 4096);
  launch("select_blocks on tensor cores", select<kDim>, static_cast<unsigned>(blocks), kThreads,
         sizeof(typename MeanWalk<kDim>::Memory), workspace.stream(),
         Call<kDim>{c, split_means<kDim>(workspace, c, means), token_tiles,
                    workspace.take<float>(blocks * floats)});
}

}  // namespace

bool selects_on_tensor_cores(const SelectionProblem& p) {
  const Index dim = p.blocks->d.dim, tokens = p.blocks->d.batch * p.blocks->d.queries;
  const auto is_readable = [](const TensorView& array) {
    return array.is_contiguous() && reinterpret_cast<std::uintptr_t>(array.data()) % 16 == 0;
  };
  return tokens < (Index{1} << 30) && size_bytes(p.query.dtype()) == 2 && dim <= 256 &&
         dim % 8 == 0 && is_readable(p.query) && is_readable(p.mean_keys);
}

void select_on_tensor_cores(Workspace& workspace, const SelectionProblem& problem,
                            const SelectionPlan& plan, const MutableTensorView& selected) {
  const Workspace::Scope scope(workspace);
  const SelectionCall c(problem, plan, selected);
  const Index means = problem.mean_keys.extent(0) * problem.mean_keys.extent(1);
  if (c.dim <= 64) return launch_selection<64>(workspace, c, means);
  if (c.dim <= 128) return launch_selection<128>(workspace, c, means);
  launch_selection<256>(workspace, c, means);
}

}  // namespace maskctl::attention::cuda
