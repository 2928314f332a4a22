// Gradients of attention over listed blocks. For gradients of queries, a block of threads takes a
// token; for gradients of keys and values, it takes a tile of keys and sums over tokens that see
// it.
#include "maskctl/attention/cuda/blocks/block_attention.h"
#include "maskctl/attention/cuda/blocks/call.cuh"
#include "maskctl/attention/cuda/blocks/hopper/attend.h"
#include "maskctl/attention/cuda/blocks/hopper/gradients.h"
#include "maskctl/attention/cuda/blocks/key_sums.h"
#include "maskctl/attention/cuda/blocks/seen_keys.cuh"

namespace maskctl::attention::cuda {
namespace {

/// What the kernels of the backward pass read.
struct GradientCall {
  BlockCall c;
  AnyArray d_out;      // [B,T,Hq,Dv]
  const float* lse;    // [B,Hq,T]
  const float* delta;  // [B,T,Hq]: dot product of out and d_out
};

constexpr int kDeltaThreads = 128;

/// delta[row] = the dot product of this row of out and d_out. Each warp computes one row.
__global__ void __launch_bounds__(kDeltaThreads)
    sum_rows(AnyArray out, AnyArray d_out, Index rows, Index width, float* delta) {
  const Index row = (Index{blockIdx.x} * kDeltaThreads + threadIdx.x) / 32;
  if (row >= rows) return;
  float sum = 0;
  for (Index x = threadIdx.x % 32; x < width; x += 32) {
    sum += element(out, row * width + x) * element(d_out, row * width + x);
  }
  sum = sum_of_lanes(sum);
  if (threadIdx.x % 32 == 0) delta[row] = sum;
}

constexpr int kQueryThreads = 128;
constexpr int kHeads = kQueryThreads / 8, kOwnHeads = 4;

/// Each block of threads takes one token and kHeads query heads of one key head, and computes
/// kColumns columns of the gradients of these queries.
__global__ void __launch_bounds__(kQueryThreads, kSmallBlocksAtOnce)
    differentiate_queries(const GradientCall g, AnyResult d_query) {
  __shared__ Factors<kQueryThreads> factors;
  alignas(16) __shared__ float weights[kKeys][kHeads + kPadding];
  __shared__ SeenKeys seen;
  __shared__ Index query_rows[kHeads];
  const BlockCall& c = g.c;
  const TokenBlocks token(c.lists, blockIdx.x / c.kv_heads, blockIdx.x % c.kv_heads);
  const Index first_head = Index{blockIdx.y} * kHeads, first_column = Index{blockIdx.z} * kColumns;
  const auto row_of = [&](int n) {
    if (first_head + n >= c.group) return Index{-1};
    return c.query_row(token.token, token.u * c.group + first_head + n);
  };
  if (threadIdx.x < kHeads) query_rows[threadIdx.x] = row_of(threadIdx.x);
  float lse[2] = {INFINITY, INFINITY}, delta[2] = {};
  for (int i = 0; i < 2; ++i) {
    const Index row = row_of(query_of(i));
    if (row < 0) continue;
    lse[i] = g.lse[c.row_by_head(token.token, row % c.q_heads())];
    delta[i] = g.delta[row];
  }

  float sums[kOwnHeads][4] = {};
  for_each_tile(token, seen, [&] {
    float scores[2][4], d_weights[2][4];
    multiply_rows<kQueryThreads>({c.query, c.dim, query_rows}, {c.key, c.dim, seen.rows}, factors,
                                 scores);
    multiply_rows<kQueryThreads>({g.d_out, c.value_dim, query_rows},
                                 {c.value, c.value_dim, seen.rows}, factors, d_weights);
#pragma unroll
    for (int n = 0; n < 8; ++n) {
      const int i = n / 4, j = n % 4;
      const float times = seen.times[key_of(j)];
      const float weight = times == 0 ? 0 : times * expf(c.scale * scores[i][j] - lse[i]);
      weights[key_of(j)][query_of(i)] = c.scale * weight * (d_weights[i][j] - delta[i]);
    }
    add_weighted_rows<kQueryThreads>(weights, {c.key, c.dim, seen.rows}, first_column, factors,
                                     sums);
  });

  const int lane = threadIdx.x % 32, own = threadIdx.x / 32 * kOwnHeads;
#pragma unroll
  for (int n = 0; n < 4 * kOwnHeads; ++n) {
    const Index row = row_of(own + n / 4), column = first_column + 4 * lane + n % 4;
    if (row >= 0 && column < c.dim) put(d_query, row * c.dim + column, sums[n / 4][n % 4]);
  }
}

constexpr int kKeyThreads = 256;
constexpr int kRows = kKeyThreads / 8, kOwnKeys = 8;
static_assert(kRows == kDepth && kKeys == kKeyThreads / 32 * kOwnKeys);

/// Queries of tokens that see a tile of keys, kRows at a time, in shared memory.
struct ReaderRows {
  Index rows[kRows];    // indices of queries in [B,T,Hq]; -1: no more queries
  Index tokens[kRows];  // indices of the queries' tokens in their sequence
  float times[kRows], lse[kRows], delta[kRows];
};

/// Sets entry `at` of `rows` to the tile's query n. The queries of a tile are all query heads of
/// its first reader, then those of its second reader, and so on.
__device__ void place_row(const GradientCall& g, const KeyTile& tile, const KeyReader* readers,
                          Index n, int at, ReaderRows& rows) {
  const BlockCall& c = g.c;
  rows.rows[at] = -1;
  if (n >= tile.readers.size() * c.group) return;
  const KeyReader reader = readers[tile.readers.begin + n / c.group];
  const Index token = tile.first + reader.token, h = tile.u * c.group + n % c.group;
  rows.rows[at] = c.query_row(token, h);
  rows.tokens[at] = reader.token;
  rows.times[at] = static_cast<float>(reader.times);
  rows.lse[at] = g.lse[c.row_by_head(token, h)];
  rows.delta[at] = g.delta[rows.rows[at]];
}

/// Each block of threads takes one KeyTile, and sums kColumns columns of the gradients of its keys
/// and of its values over the readers of the tile.
__global__ void __launch_bounds__(kKeyThreads, kLargeBlocksAtOnce)
    differentiate_keys(const GradientCall g, const KeyTile* tiles, const KeyReader* readers,
                       KeySums to) {
  __shared__ Factors<kKeyThreads> factors;
  alignas(16) __shared__ float weights[kRows][kKeys + kPadding];
  alignas(16) __shared__ float d_scores[kRows][kKeys + kPadding];
  __shared__ ReaderRows queries;
  __shared__ Index key_rows[kKeys];
  const BlockCall& c = g.c;
  const KeyTile tile = tiles[blockIdx.x];
  const Index first_column = Index{blockIdx.y} * kColumns;
  const auto row_of = [&](int n) {
    const Index key = tile.keys.begin + n;
    return key < tile.keys.end ? (tile.first + key) * c.kv_heads + tile.u : -1;
  };
  if (threadIdx.x < kKeys) key_rows[threadIdx.x] = row_of(threadIdx.x);

  float d_keys[kOwnKeys][4] = {}, d_values[kOwnKeys][4] = {};
  for (Index first = 0; first < tile.readers.size() * c.group; first += kRows) {
    __syncthreads();
    if (threadIdx.x < kRows) {
      place_row(g, tile, readers, first + threadIdx.x, threadIdx.x, queries);
    }
    __syncthreads();
    float scores[2][4], d_weights[2][4];
    multiply_rows<kKeyThreads>({c.query, c.dim, queries.rows}, {c.key, c.dim, key_rows}, factors,
                               scores);
    multiply_rows<kKeyThreads>({g.d_out, c.value_dim, queries.rows},
                               {c.value, c.value_dim, key_rows}, factors, d_weights);
#pragma unroll
    for (int n = 0; n < 8; ++n) {
      const int i = n / 4, j = n % 4, row = query_of(i);
      const Index key = tile.keys.begin + key_of(j);
      const bool open = queries.rows[row] >= 0 && key < tile.keys.end && key <= queries.tokens[row];
      const float weight =
          open ? queries.times[row] * expf(c.scale * scores[i][j] - queries.lse[row]) : 0;
      weights[row][key_of(j)] = weight;
      d_scores[row][key_of(j)] =
          open ? c.scale * weight * (d_weights[i][j] - queries.delta[row]) : 0;
    }
    if (first_column < c.value_dim) {
      add_weighted_rows<kKeyThreads>(weights, {g.d_out, c.value_dim, queries.rows}, first_column,
                                     factors, d_values);
    }
    if (first_column < c.dim) {
      add_weighted_rows<kKeyThreads>(d_scores, {c.query, c.dim, queries.rows}, first_column,
                                     factors, d_keys);
    }
  }

  const int lane = threadIdx.x % 32, own = threadIdx.x / 32 * kOwnKeys;
#pragma unroll
  for (int n = 0; n < 4 * kOwnKeys; ++n) {
    const int key = own + n / 4;
    const Index row = row_of(key), column = first_column + 4 * lane + n % 4;
    if (row < 0) continue;
    const float d_key = d_keys[n / 4][n % 4], d_value = d_values[n / 4][n % 4];
    if (tile.slot < 0) {
      if (column < c.dim) put(to.d_key, row * c.dim + column, d_key);
      if (column < c.value_dim) put(to.d_value, row * c.value_dim + column, d_value);
    } else {
      float* const sums = to.partial + (tile.slot * kKeys + key) * (c.dim + c.value_dim);
      if (column < c.dim) sums[column] = d_key;
      if (column < c.value_dim) sums[c.dim + column] = d_value;
    }
  }
}

/// Each block of threads adds up the partial sums of one tile of keys, always in the same order.
__global__ void __launch_bounds__(kKeyThreads)
    add_partial_sums(const BlockCall c, const SplitTile* splits, KeySums to) {
  const SplitTile split = splits[blockIdx.x];
  const Index width = c.dim + c.value_dim;
  for (Index i = threadIdx.x; i < split.keys * width; i += kKeyThreads) {
    float sum = 0;
    for (Index slot = split.slots.begin; slot < split.slots.end; ++slot) {
      sum += to.partial[slot * kKeys * width + i];
    }
    const Index row = (split.first_key + i / width) * c.kv_heads + split.u, column = i % width;
    if (column < c.dim) {
      put(to.d_key, row * c.dim + column, sum);
    } else {
      put(to.d_value, row * c.value_dim + column - c.dim, sum);
    }
  }
}

void fill_zeros(const MutableTensorView& array, Stream stream) {
  fill_bytes(array.data(), 0, as_size(array.elements() * size_bytes(array.dtype())), stream);
}

/// Calls differentiate(sums) for all tiles of keys, and adds up their partial sums.
template <class F>
void run_keys(Workspace& workspace, const BlockCall& c, const BlockGradientPlan& plan,
              const SoftmaxGradientOutputs& gradients, F&& differentiate) {
  // no KeyTile has the keys of blocks that no token sees
  fill_zeros(gradients.key, workspace.stream());
  fill_zeros(gradients.value, workspace.stream());
  const KeySums to{any_result(gradients.key), any_result(gradients.value),
                   workspace.take<float>(plan.slot_count() * kKeys * (c.dim + c.value_dim))};
  differentiate(to);
  launch("blocks_backward, sums of keys", add_partial_sums,
         static_cast<unsigned>(plan.split_count()), kKeyThreads, 0, workspace.stream(), c,
         plan.splits(), to);
}

void run_plain(Workspace& workspace, const BlockCall& c, const BlockGradientPlan& plan,
               const SoftmaxBackwardInputs& inputs, const SoftmaxGradientOutputs& gradients) {
  const Index rows = c.tokens * c.q_heads();
  float* const delta = workspace.take<float>(rows);
  const GradientCall call{c, any_array(inputs.d_out),
                          reinterpret_cast<const float*>(inputs.lse.data()), delta};
  launch("blocks_backward of rows", sum_rows,
         static_cast<unsigned>(ceil_div(rows, kDeltaThreads / 32)), kDeltaThreads, 0,
         workspace.stream(), any_array(inputs.out), call.d_out, rows, c.value_dim, delta);
  launch("blocks_backward of queries", differentiate_queries, token_grid(c, kHeads, c.dim),
         kQueryThreads, 0, workspace.stream(), call, any_result(gradients.query));
  run_keys(workspace, c, plan, gradients, [&](const KeySums& to) {
    const dim3 grid(static_cast<unsigned>(plan.tile_count()),
                    static_cast<unsigned>(ceil_div(std::max(c.dim, c.value_dim), kColumns)));
    launch("blocks_backward of keys", differentiate_keys, grid, kKeyThreads, 0, workspace.stream(),
           call, plan.tiles(), plan.readers(), to);
  });
}

}  // namespace

void blocks_backward(Workspace& workspace, const BlockProblem& problem,
                     const BlockGradientPlan& plan, const SoftmaxBackwardInputs& inputs,
                     const SoftmaxGradientOutputs& gradients) {
  const Workspace::Scope scope(workspace);
  const BlockCall c(problem, plan.lists());
  if (!hopper::takes_blocks(problem, plan.lists()) || !hopper::takes_gradients(problem, inputs)) {
    return run_plain(workspace, c, plan, inputs, gradients);
  }
  auto* const terms = workspace.take<hopper::RowTerms>(hopper::row_terms(problem));
  hopper::differentiate_queries(workspace, problem, plan.lists(), inputs, gradients.query, terms);
  run_keys(workspace, c, plan, gradients, [&](const KeySums& to) {
    hopper::differentiate_keys(workspace, problem, plan, inputs, terms, to);
  });
}

}  // namespace maskctl::attention::cuda
