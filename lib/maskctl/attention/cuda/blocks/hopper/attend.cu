// Attention over listed blocks on the tensor cores of Hopper GPUs: a warp takes a token and 16
// query heads of one key head, which are the rows of its matrix products.
//
// Each token has its own list, so each token reads its keys and values from the L2 cache, whose
// bandwidth limits the speed. A thread block is one warp, and six of them share a multiprocessor:
// while a warp multiplies, the copy engine loads keys or values for it and the other warps.
#include "maskctl/attention/cuda/blocks/hopper/attend.h"
#include "maskctl/attention/cuda/blocks/hopper/token_rows.cuh"
#include "maskctl/attention/cuda/hopper/gpu.h"

namespace maskctl::attention::cuda::hopper {
namespace {

struct WarpCall {
  BlockCall c;
  CUtensorMap key, value;  // made by keys_map()
  void* out;
  float* lse;
  Index head_tiles;
};

template <class T, int kDim>
class Warp {
  using Memory = TokenMemory<kDim>;
  using Rows = TokenRows<T, kDim>;

 public:
  __device__ Warp(const WarpCall& call, Memory& memory, const TokenOfBlock& token)
      : call_(call),
        memory_(memory),
        walk_(token.blocks, memory.seen),
        rows_(call.c, token.blocks, token.first_head) {}

  __device__ __forceinline__ void run() {
    SeenTile tile = walk_.next();
    if (tile.key >= 0) {
      rows_.load(memory_.key, call_.key, tile, memory_.key_full);
      rows_.load(memory_.value, call_.value, tile, memory_.value_full);
      rows_.read(call_.c.query.data, queries_);
    }
    for (int parity = 0; tile.key >= 0; parity ^= 1) {
      const SeenTile next = walk_.next();
      memory_.key_full.wait(parity);
      rows_.score(queries_, memory_.key, scores_);
      __syncwarp();
      if (next.key >= 0) rows_.load(memory_.key, call_.key, next, memory_.key_full);
      weigh(tile);
      memory_.value_full.wait(parity);
      rows_.clear_unseen(tile, memory_.value);
      rows_.add(scores_, memory_.value, sums_);
      __syncwarp();
      if (next.key >= 0) rows_.load(memory_.value, call_.value, next, memory_.value_full);
      tile = next;
    }
    store();
  }

 private:
  /// A step of the online softmax: updates the maxima, replaces scores by exp(score - maximum), and
  /// rescales the sums of earlier tiles.
  __device__ __forceinline__ void weigh(const SeenTile& tile) {
    const int seen = rows_.seen(tile);
    const float to_exponent = call_.c.scale * kLog2E;
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      float top = top_[side];
#pragma unroll
      for (int i = 0; i < kKeys / 4; ++i) {
        float& x = scores_[i / 2][2 * side + i % 2];
        x = rows_.key_of(i) < seen ? x * to_exponent : -INFINITY;
        top = fmaxf(top, x);
      }
      top = max_of_lanes<4>(top);
      const float shift = top == -INFINITY ? 0 : top;
      const float rescale = exp2_approximate(__fsub_rn(top_[side], shift));
      float sum = 0;
#pragma unroll
      for (int i = 0; i < kKeys / 4; ++i) {
        float& x = scores_[i / 2][2 * side + i % 2];
        x = tile.times * exp2_approximate(x - shift);
        sum += x;
      }
      top_[side] = top;
      total_[side] = total_[side] * rescale + sum;
#pragma unroll
      for (int i = 0; i < kDim / 8; ++i) {
        sums_[i][2 * side] *= rescale, sums_[i][2 * side + 1] *= rescale;
      }
    }
  }
  __device__ __forceinline__ void store() {
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      const float total = sum_of_lanes<4>(total_[side]);
      if (rows_.head(side) < 0) continue;
      rows_.store(sums_, side, total == 0 ? 0 : 1 / total, call_.out);
      if (rows_.is_first_of_row()) {
        call_.lse[rows_.row_by_head(side)] =
            total == 0 ? -INFINITY : top_[side] * kLn2 + logf(total);
      }
    }
  }

  const WarpCall& call_;
  Memory& memory_;
  SeenWalk walk_;
  const Rows rows_;
  typename Rows::Row queries_;
  typename Rows::Scores scores_;
  typename Rows::Sums sums_ = {};
  float top_[2] = {-INFINITY, -INFINITY}, total_[2] = {};
};

template <class T, int kDim>
__global__ void __launch_bounds__(kWarp, 6) attend_kernel(const __grid_constant__ WarpCall call) {
  using Memory = TokenMemory<kDim>;
  Memory& memory = block_memory<Memory>();
  memory.init();
  const TokenOfBlock token(call.c, call.head_tiles);
  Warp<T, kDim>(call, memory, token).run();
}

}  // namespace

bool takes_blocks(const BlockProblem& p, const BlockLists& lists) {
  const DType dtype = p.query.dtype();
  const Index dim = p.d.dim, tokens = p.d.batch * p.d.queries;
  return unavailable().empty() && size_bytes(dtype) == 2 && (dim == 64 || dim == 128) &&
         lists.block_size % kKeys == 0 && tokens > 0 && tokens < (Index{1} << 30) &&
         is_readable(p.query, dtype, dim) && is_readable(p.key, dtype, dim) &&
         is_readable(p.value, dtype, dim);
}

void attend(Workspace& workspace, const BlockProblem& p, const BlockLists& lists,
            const SoftmaxOutputs& outputs) {
  const BlockCall c(p, lists);
  const WarpCall call{c,
                      keys_map(p.key, c),
                      keys_map(p.value, c),
                      outputs.out.data(),
                      reinterpret_cast<float*>(outputs.lse.data()),
                      head_tiles_of(c)};
  with_16_bits(p.query.dtype(), [&]<class T>(std::type_identity<T>) {
    with_dim(c.dim, [&]<int kDim>(std::integral_constant<int, kDim>) {
      launch("blocks_forward on tensor cores", attend_kernel<T, kDim>, token_blocks(c), kWarp,
             block_bytes<TokenMemory<kDim>, 6>(), workspace.stream(), call);
    });
  });
}

}  // namespace maskctl::attention::cuda::hopper
