// Gradients of queries of attention over listed blocks: as in attend.cu, a warp takes a token and
// 16 query heads of one key head, and goes through the tiles of keys that the token sees.
#include "maskctl/attention/cuda/blocks/hopper/gradients.h"
#include "maskctl/attention/cuda/blocks/hopper/token_rows.cuh"

namespace maskctl::attention::cuda::hopper {
namespace {

struct QueryGradientCall {
  BlockCall c;
  CUtensorMap key, value;  // made by keys_map()
  const void *out, *d_out;
  const float* lse;
  void* d_query;
  RowTerms* terms;
  Index head_tiles;
};

template <class T, int kDim>
class QueryGradientWarp {
  using Memory = TokenMemory<kDim>;
  using Rows = TokenRows<T, kDim>;

 public:
  __device__ QueryGradientWarp(const QueryGradientCall& call, Memory& memory,
                               const TokenOfBlock& token)
      : call_(call),
        memory_(memory),
        token_(token),
        walk_(token.blocks, memory.seen),
        rows_(call.c, token.blocks, token.first_head) {}

  /// Computes the gradients of the queries. For each tile, the gradients of the weights come first:
  /// they alone need the values, so the values of the next tile load while the keys are used.
  __device__ __forceinline__ void run() {
    SeenTile tile = walk_.next();
    if (tile.key >= 0) {
      rows_.load(memory_.value, call_.value, tile, memory_.value_full);
      rows_.load(memory_.key, call_.key, tile, memory_.key_full);
    }
    rows_.read(call_.d_out, d_out_);
    make_terms();
    rows_.read(call_.c.query.data, queries_);
    for (int parity = 0; tile.key >= 0; parity ^= 1) {
      const SeenTile next = walk_.next();
      memory_.value_full.wait(parity);
      rows_.score(d_out_, memory_.value, d_weights_);
      __syncwarp();
      if (next.key >= 0) rows_.load(memory_.value, call_.value, next, memory_.value_full);
      memory_.key_full.wait(parity);
      rows_.score(queries_, memory_.key, scores_);
      differentiate(tile);
      rows_.clear_unseen(tile, memory_.key);
      rows_.add(scores_, memory_.key, sums_);
      __syncwarp();
      if (next.key >= 0) rows_.load(memory_.key, call_.key, next, memory_.key_full);
      tile = next;
    }
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      if (rows_.head(side) >= 0) rows_.store(sums_, side, call_.c.scale, call_.d_query);
    }
  }

 private:
  /// Computes and stores the RowTerms of the rows. Rows past the last head get an lse of infinity,
  /// so that their weights are zero.
  __device__ __forceinline__ void make_terms() {
    rows_.read(call_.out, queries_);
    RowTerms* const to = call_.terms + ((token_.blocks.token * call_.c.kv_heads + token_.blocks.u) *
                                            call_.head_tiles * kRows +
                                        token_.first_head);
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      float delta = 0;
#pragma unroll
      for (int i = 0; i < kDim / 8; ++i) {
        const int at = i % 2 * 2 + side;
        delta += dot_of_pairs(queries_[i / 2][at], d_out_[i / 2][at]);
      }
      delta_[side] = sum_of_lanes<4>(delta);
      lse_[side] = rows_.head(side) < 0 ? INFINITY : call_.lse[rows_.row_by_head(side)] * kLog2E;
      if (rows_.is_first_of_row()) {
        to[static_cast<int>(threadIdx.x) / 4 + 8 * side] = {lse_[side], delta_[side]};
      }
    }
  }
  __device__ __forceinline__ static float dot_of_pairs(std::uint32_t a, std::uint32_t b) {
    const T *const x = reinterpret_cast<const T*>(&a), *const y = reinterpret_cast<const T*>(&b);
    return to_float(x[0]) * to_float(y[0]) + to_float(x[1]) * to_float(y[1]);
  }
  /// Replaces the scores of a tile by their gradients; the factor `scale` is applied at the end.
  __device__ __forceinline__ void differentiate(const SeenTile& tile) {
    const int seen = rows_.seen(tile);
    const float to_exponent = call_.c.scale * kLog2E;
#pragma unroll
    for (int i = 0; i < kKeys / 4; ++i) {
#pragma unroll
      for (int side = 0; side < 2; ++side) {
        const int at = 2 * side + i % 2;
        float& x = scores_[i / 2][at];
        const float weight = tile.times * exp2_approximate(fmaf(x, to_exponent, -lse_[side]));
        x = rows_.key_of(i) < seen ? weight * (d_weights_[i / 2][at] - delta_[side]) : 0;
      }
    }
  }

  const QueryGradientCall& call_;
  Memory& memory_;
  const TokenOfBlock& token_;
  SeenWalk walk_;
  const Rows rows_;
  typename Rows::Row queries_, d_out_;
  typename Rows::Scores scores_, d_weights_;
  typename Rows::Sums sums_ = {};
  float lse_[2], delta_[2];
};

template <class T, int kDim>
__global__ void __launch_bounds__(kWarp, 6)
    query_gradients(const __grid_constant__ QueryGradientCall call) {
  using Memory = TokenMemory<kDim>;
  Memory& memory = block_memory<Memory>();
  memory.init();
  const TokenOfBlock token(call.c, call.head_tiles);
  QueryGradientWarp<T, kDim>(call, memory, token).run();
}

}  // namespace

Index row_terms(const BlockProblem& p) {
  return p.d.batch * p.d.queries * p.d.kv_heads * ceil_div(p.d.group(), kRows) * kRows;
}

bool takes_gradients(const BlockProblem& p, const SoftmaxBackwardInputs& inputs) {
  return is_readable(inputs.d_out, p.query.dtype(), p.d.dim) &&
         is_readable(inputs.out, p.query.dtype(), p.d.dim);
}

void differentiate_queries(Workspace& workspace, const BlockProblem& p, const BlockLists& lists,
                           const SoftmaxBackwardInputs& inputs, const MutableTensorView& d_query,
                           RowTerms* terms) {
  const BlockCall c(p, lists);
  const QueryGradientCall call{c,
                               keys_map(p.key, c),
                               keys_map(p.value, c),
                               inputs.out.data(),
                               inputs.d_out.data(),
                               reinterpret_cast<const float*>(inputs.lse.data()),
                               d_query.data(),
                               terms,
                               head_tiles_of(c)};
  with_16_bits(p.query.dtype(), [&]<class T>(std::type_identity<T>) {
    with_dim(c.dim, [&]<int kDim>(std::integral_constant<int, kDim>) {
      launch("blocks_backward of queries on tensor cores", query_gradients<T, kDim>,
             token_blocks(c), kWarp, block_bytes<TokenMemory<kDim>, 6>(), workspace.stream(), call);
    });
  });
}

}  // namespace maskctl::attention::cuda::hopper
