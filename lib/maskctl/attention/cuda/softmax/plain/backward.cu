// Backward attention in two passes, so that sums have a fixed order without atomics. Blocks that
// own queries loop over the open tiles of keys, for d_query; blocks that own keys loop over the
// open tiles of queries, for d_key and d_value. Both recompute the weights of a tile from the lse
// of the forward pass.
#include "maskctl/attention/cuda/softmax/plain/gradients.cuh"

namespace maskctl::attention::cuda {
namespace {

template <int kColumns>
__global__ void __launch_bounds__(kThreads) query_gradient(BackwardParams b, AnyResult d_query) {
  __shared__ TileMemory memory;
  const SoftmaxParams& p = b.p;
  const BlockPart at = block_part(p.d.q_heads, p.d.batch, ceil_div(p.d.queries, kTile), kColumns);
  const Index kv_head = at.h / (p.d.q_heads / p.d.kv_heads);
  const TileTableView& table = table_of(p.by_query, at.b, at.h);
  Sums<kColumns> sums;
  for_each_tile(table, at.tile, [&](const Tile& tile) {
    Scores kept, ds;
    const std::uint64_t opened =
        tile_gradients<false>(b, at.b, at.h, at.tile, table, tile, memory, kept, ds);
    put_weights(ds, opened, memory);
    accumulate(rows_of(p.key, at.b, tile.number * kTile, kv_head, p.d.keys), at.first_column,
               p.d.dim, memory, sums);
  });
  sums.each([&](int row, int column, float x) {
    const Index i = at.tile * kTile + row, c = at.first_column + column;
    if (i >= p.d.queries || c >= p.d.dim) return;
    put(d_query, ((at.b * p.d.queries + i) * p.d.q_heads + at.h) * p.d.dim + c, p.scale * x);
  });
}

template <int kColumns>
__global__ void __launch_bounds__(kThreads)
    key_gradients(BackwardParams b, const float* mean_shares, AnyResult d_key, AnyResult d_value) {
  __shared__ TileMemory memory;
  const SoftmaxParams& p = b.p;
  const BlockPart at = block_part(p.d.kv_heads, p.d.batch, ceil_div(p.d.keys, kTile), kColumns);
  const Index group = p.d.q_heads / p.d.kv_heads;
  Sums<kColumns> key_sums, value_sums;
  for (Index h = at.h * group; h < (at.h + 1) * group; ++h) {
    const TileTableView& table = table_of(p.by_key, at.b, h);
    for_each_tile(table, at.tile, [&](const Tile& tile) {
      Scores kept, ds;
      const Index i0 = tile.number * kTile;
      const std::uint64_t opened =
          tile_gradients<true>(b, at.b, h, at.tile, table, tile, memory, kept, ds);
      if (at.first_column < p.d.value_dim) {
        put_weights(kept, opened, memory);
        accumulate(rows_of(b.d_out, at.b, i0, h, p.d.queries), at.first_column, p.d.value_dim,
                   memory, value_sums);
      }
      if (at.first_column < p.d.dim) {
        put_weights(ds, opened, memory);
        accumulate(rows_of(p.query, at.b, i0, h, p.d.queries), at.first_column, p.d.dim, memory,
                   key_sums);
      }
    });
  }
  const auto token = [&](int row) {
    return (at.b * p.d.keys + at.tile * kTile + row) * p.d.kv_heads + at.h;
  };
  const auto exists = [&](int row) { return at.tile * kTile + row < p.d.keys; };
  key_sums.each([&](int row, int column, float x) {
    const Index c = at.first_column + column;
    if (exists(row) && c < p.d.dim) put(d_key, token(row) * p.d.dim + c, p.scale * x);
  });
  value_sums.each([&](int row, int column, float x) {
    const Index c = at.first_column + column, width = p.d.value_dim;
    if (!exists(row) || c >= width) return;
    if (mean_shares) x += mean_shares[(at.b * p.d.kv_heads + at.h) * width + c];
    put(d_value, token(row) * width + c, x);
  });
}

/// Each warp computes the delta of one row.
__global__ void deltas(BackwardParams b, float* delta) {
  const Dims& d = b.p.d;
  const Index row = Index{blockIdx.x} * (kThreads / 32) + threadIdx.x / 32;
  if (row >= d.batch * d.q_heads * d.queries) return;
  const Index batch = row / d.queries / d.q_heads, h = row / d.queries % d.q_heads,
              i = row % d.queries;
  const Index out = batch * b.out.batch_stride + i * b.out.token_stride + h * b.out.head_stride;
  const Index d_out =
      batch * b.d_out.batch_stride + i * b.d_out.token_stride + h * b.d_out.head_stride;
  float sum = 0;
  for (Index c = threadIdx.x % 32; c < d.value_dim; c += 32) {
    sum += element({b.out.data, b.out.dtype}, out + c) *
           element({b.d_out.data, b.d_out.dtype}, d_out + c);
  }
  sum = sum_of_lanes(sum);
  if (threadIdx.x % 32 == 0) delta[row] = b.d_lse.data ? sum - element(b.d_lse, row) : sum;
}

__global__ void shares_of_means(BackwardParams b, float* shares) {
  const Dims& d = b.p.d;
  const Index n = blockIdx.x, batch = n / d.kv_heads, group = d.q_heads / d.kv_heads;
  for (Index c = threadIdx.x; c < d.value_dim; c += blockDim.x) {
    float sum = 0;
    for (Index h = n % d.kv_heads * group; h < (n % d.kv_heads + 1) * group; ++h) {
      for (Index i = 0; i < d.queries; ++i) {
        if (b.lse[(batch * d.q_heads + h) * d.queries + i] != -kInfinity) continue;
        sum += element(
            {b.d_out.data, b.d_out.dtype},
            batch * b.d_out.batch_stride + i * b.d_out.token_stride + h * b.d_out.head_stride + c);
      }
    }
    shares[n * d.value_dim + c] = sum / static_cast<float>(d.keys);
  }
}

/// Each block computes the gradient of one sink.
__global__ void __launch_bounds__(kThreads) sink_gradient(BackwardParams b, AnyResult d_sinks) {
  __shared__ float sums[kThreads];
  const SoftmaxParams& p = b.p;
  const Index row = blockIdx.x / p.sink_count, t = blockIdx.x % p.sink_count;
  const Index heads = p.heads_of_sinks == 0 ? p.d.q_heads : p.heads_of_sinks;
  const Index all = p.d.batch * heads * p.d.queries;
  float sum = 0;
  for (Index n = threadIdx.x; n < all; n += kThreads) {
    const Index i = n % p.d.queries, h = row * heads + n / p.d.queries % heads;
    const Index at = (n / p.d.queries / heads * p.d.q_heads + h) * p.d.queries + i;
    sum -= expf(sink(p, h, t) - b.lse[at]) * b.delta[at];
  }
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (unsigned half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) put(d_sinks, blockIdx.x, sums[0]);
}

unsigned slices(Index columns, int of) {
  return static_cast<unsigned>(std::max<Index>(ceil_div(columns, of), 1));
}

}  // namespace

void launch_delta(const BackwardParams& b, float* delta, Stream stream) {
  const Index rows = b.p.d.batch * b.p.d.q_heads * b.p.d.queries;
  launch("softmax_backward: delta", deltas, static_cast<unsigned>(ceil_div(rows, kThreads / 32)),
         kThreads, 0, stream, b, delta);
}

void launch_query_gradient(const BackwardParams& b, AnyResult d_query, Stream stream) {
  const Dims& d = b.p.d;
  const bool narrow = d.dim <= 64;
  const dim3 grid(static_cast<unsigned>(d.batch * d.q_heads * ceil_div(d.queries, kTile)),
                  slices(d.dim, narrow ? 64 : kMost));
  launch("softmax_backward: d_query", narrow ? query_gradient<64> : query_gradient<kMost>, grid,
         kThreads, 0, stream, b, d_query);
}

void launch_key_gradients(const BackwardParams& b, const float* mean_shares, AnyResult d_key,
                          AnyResult d_value, Stream stream) {
  const Dims& d = b.p.d;
  const Index widest = std::max(d.dim, d.value_dim);
  const bool narrow = widest <= 64;
  const dim3 grid(static_cast<unsigned>(d.batch * d.kv_heads * ceil_div(d.keys, kTile)),
                  slices(widest, narrow ? 64 : kMost));
  launch("softmax_backward: d_key, d_value", narrow ? key_gradients<64> : key_gradients<kMost>,
         grid, kThreads, 0, stream, b, mean_shares, d_key, d_value);
}

void launch_mean_shares(const BackwardParams& b, float* mean_shares, Stream stream) {
  launch("softmax_backward: rows without a key", shares_of_means,
         static_cast<unsigned>(b.p.d.batch * b.p.d.kv_heads), kThreads, 0, stream, b, mean_shares);
}

void launch_sink_gradient(const BackwardParams& b, AnyResult d_sinks, Index rows, Stream stream) {
  launch("softmax_backward: sinks", sink_gradient, static_cast<unsigned>(rows * b.p.sink_count),
         kThreads, 0, stream, b, d_sinks);
}

}  // namespace maskctl::attention::cuda
