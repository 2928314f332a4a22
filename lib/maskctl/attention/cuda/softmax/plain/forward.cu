// Forward attention, and its weights. A block takes one tile of queries of one head and loops over
// the tiles of keys that the mask opens, with the running maximum and the running sum of each row.
#include "maskctl/attention/cuda/softmax/plain/kernels.h"
#include "maskctl/attention/cuda/softmax/plain/tile.cuh"

namespace maskctl::attention::cuda {
namespace {

/// The running maxima and sums of the thread's four rows.
struct RowState {
  float max[4], sum[4];
};

/// Computes the scores of a tile, -inf where it is closed. Returns the columns that at least one of
/// the thread's rows opens, as bits.
__device__ std::uint64_t open_scores(const SoftmaxParams& p, const BlockPart& at,
                                     const TileTableView& table, const Tile& tile,
                                     TileMemory& memory, Scores& s) {
  const Index i0 = at.tile * kTile, j0 = tile.number * kTile;
  const Rows queries = rows_of(p.query, at.b, i0, at.h, p.d.queries);
  const Rows keys = rows_of(p.key, at.b, j0, at.h / (p.d.q_heads / p.d.kv_heads), p.d.keys);
  multiply(queries, keys, p.d.dim, memory, s);
  std::uint64_t opened = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int row = row_of_thread() + i;
    const std::uint64_t open = open_columns(table, tile, row, queries.count, keys.count);
    opened |= open;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int column = column_of_thread() + j;
      float derivative;
      s[i][j] = open >> column & 1
                    ? logit(p, at.b, at.h, i0 + row, j0 + column, s[i][j], derivative)
                    : -kInfinity;
    }
  }
  return opened;
}

/// Updates the running maxima and sums with the scores, and turns the scores into weights.
/// `rescale`: the factors for earlier sums.
__device__ void online_softmax(Scores& s, RowState& state, float (&rescale)[4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float most = max_of_row(fmaxf(fmaxf(s[i][0], s[i][1]), fmaxf(s[i][2], s[i][3])));
    const float max = fmaxf(state.max[i], most);
    const float shift = max == -kInfinity ? 0 : max;
    rescale[i] = rescale_factor(state.max[i], max);
    state.max[i] = max;
    float sum = 0;
#pragma unroll
    for (float& x : s[i]) {
      x = expf(x - shift);
      sum += x;
    }
    state.sum[i] = state.sum[i] * rescale[i] + sum_of_row(sum);
  }
}

__device__ void drop(const SoftmaxParams& p, const BlockPart& at, const Tile& tile, Scores& s) {
  if (p.dropout == 0) return;
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) {
      s[i][j] *= multiplier(p, at.b, at.h, at.tile * kTile + row_of_thread() + i,
                            tile.number * kTile + column_of_thread() + j);
    }
  }
}

template <int kColumns>
__global__ void __launch_bounds__(kThreads)
    forward(SoftmaxParams p, const float* means, AnyResult out, float* lse) {
  __shared__ TileMemory memory;
  const BlockPart at = block_part(p.d.q_heads, p.d.batch, ceil_div(p.d.queries, kTile), kColumns);
  const Index kv_head = at.h / (p.d.q_heads / p.d.kv_heads);
  const TileTableView& table = table_of(p.by_query, at.b, at.h);
  RowState state{{-kInfinity, -kInfinity, -kInfinity, -kInfinity}, {}};
  Sums<kColumns> sums;
  for_each_tile(table, at.tile, [&](const Tile& tile) {
    Scores s;
    float rescale[4];
    const std::uint64_t opened = open_scores(p, at, table, tile, memory, s);
    online_softmax(s, state, rescale);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      for (float& x : sums.x[i]) x *= rescale[i];
    }
    drop(p, at, tile, s);
    put_weights(s, opened, memory);
    accumulate(rows_of(p.value, at.b, tile.number * kTile, kv_head, p.d.keys), at.first_column,
               p.d.value_dim, memory, sums);
  });
  float factor[4];
  bool seen[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    float max = state.max[i], sum = state.sum[i];
    seen[i] = max != -kInfinity;
    const float rescale = p.sink_count > 0 ? add_sinks(p, at.h, max, sum) : 1;
    factor[i] = p.normalize ? rescale / sum : 1;
    const Index row = at.tile * kTile + row_of_thread() + i;
    if (row < p.d.queries && at.first_column == 0 && threadIdx.x % 16 == 0) {
      lse[(at.b * p.d.q_heads + at.h) * p.d.queries + row] =
          max == -kInfinity ? -kInfinity : max + logf(sum);
    }
  }
  const bool by_policy = p.sink_count == 0 && p.empty_row != EmptyRow::kZero;
  sums.each([&](int row, int column, float x) {
    const Index i = at.tile * kTile + row, c = at.first_column + column;
    if (i >= p.d.queries || c >= p.d.value_dim) return;
    float value = x * factor[row % 4];
    if (!seen[row % 4]) {
      value = !by_policy ? 0
              : p.empty_row == EmptyRow::kNan
                  ? nanf("")
                  : means[(at.b * p.d.kv_heads + kv_head) * p.d.value_dim + c];
    }
    put(out, ((at.b * p.d.queries + i) * p.d.q_heads + at.h) * p.d.value_dim + c, value);
  });
}

__global__ void __launch_bounds__(kThreads) weights(SoftmaxParams p, float* out) {
  __shared__ TileMemory memory;
  const BlockPart at = block_part(p.d.q_heads, p.d.batch, ceil_div(p.d.queries, kTile), 1);
  const TileTableView& table = table_of(p.by_query, at.b, at.h);
  RowState state{{-kInfinity, -kInfinity, -kInfinity, -kInfinity}, {}};
  for_each_tile(table, at.tile, [&](const Tile& tile) {
    Scores s;
    float rescale[4];
    open_scores(p, at, table, tile, memory, s);
    online_softmax(s, state, rescale);
  });
  float lse[4];
  for (int i = 0; i < 4; ++i) {
    float max = state.max[i], sum = state.sum[i];
    add_sinks(p, at.h, max, sum);
    lse[i] = max + logf(sum);
  }
  const Index first = ((at.b * p.d.q_heads + at.h) * p.d.queries + at.tile * kTile) * p.d.keys;
  for_each_tile(table, at.tile, [&](const Tile& tile) {
    Scores s;
    open_scores(p, at, table, tile, memory, s);
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 4; ++j) {
        const int row = row_of_thread() + i;
        const Index key = tile.number * kTile + column_of_thread() + j;
        if (s[i][j] != -kInfinity) out[first + row * p.d.keys + key] = expf(s[i][j] - lse[i]);
      }
    }
  });
}

/// Writes `value` as every weight of rows without a key, under policies that give them weights.
__global__ void empty_weights(SoftmaxParams p, float value, float* out) {
  const BlockPart at = block_part(p.d.q_heads, p.d.batch, p.d.queries, 1);
  const TileTableView& table = table_of(p.by_query, at.b, at.h);
  const Index tile_row = at.tile / kTile;
  bool seen = false;
  for_each_tile(table, tile_row, [&](const Tile& tile) {
    const int columns = static_cast<int>(std::min<Index>(kTile, p.d.keys - tile.number * kTile));
    seen |= open_columns(table, tile, static_cast<int>(at.tile % kTile), kTile, columns) != 0;
  });
  if (seen) return;
  float* const row = out + ((at.b * p.d.q_heads + at.h) * p.d.queries + at.tile) * p.d.keys;
  for (Index j = threadIdx.x; j < p.d.keys; j += blockDim.x) row[j] = value;
}

/// The mean of the values of each key head, or their sum if weights are not normalised: [B,Hkv,Dv].
__global__ void value_means(SoftmaxParams p, float* out) {
  const Index n = blockIdx.x, b = n / p.d.kv_heads, u = n % p.d.kv_heads;
  for (Index c = threadIdx.x; c < p.d.value_dim; c += blockDim.x) {
    float sum = 0;
    with_type(p.value.dtype, [&]<class T>(const T*) {
      const T* const v = static_cast<const T*>(p.value.data) + b * p.value.batch_stride +
                         u * p.value.head_stride + c;
      for (Index j = 0; j < p.d.keys; ++j) sum += to_float(v[j * p.value.token_stride]);
    });
    const float weight = p.normalize ? 1 / static_cast<float>(p.d.keys) : 1;
    out[n * p.d.value_dim + c] = p.d.keys == 0 ? 0 : sum * weight;
  }
}

}  // namespace

void launch_forward(const SoftmaxParams& p, const float* means, AnyResult out, float* lse,
                    Stream stream) {
  const bool narrow = p.d.value_dim <= 64;
  const int columns = narrow ? 64 : kMost;
  const dim3 grid(static_cast<unsigned>(p.d.batch * p.d.q_heads * ceil_div(p.d.queries, kTile)),
                  static_cast<unsigned>(std::max<Index>(ceil_div(p.d.value_dim, columns), 1)));
  launch("softmax_forward", narrow ? forward<64> : forward<kMost>, grid, kThreads, 0, stream, p,
         means, out, lse);
}

void launch_weights(const SoftmaxParams& p, float* out, Stream stream) {
  const Index rows = p.d.batch * p.d.q_heads * p.d.queries;
  fill_bytes(out, 0, as_size(rows * p.d.keys) * sizeof(float), stream);
  const Index blocks = p.d.batch * p.d.q_heads * ceil_div(p.d.queries, kTile);
  launch("softmax_weights", weights, static_cast<unsigned>(blocks), kThreads, 0, stream, p, out);
  if (p.empty_row == EmptyRow::kZero || p.sink_count > 0) return;
  const float even = p.empty_row == EmptyRow::kMean ? 1 / static_cast<float>(p.d.keys) : nanf("");
  launch("softmax_weights of empty rows", empty_weights, static_cast<unsigned>(rows), kThreads, 0,
         stream, p, even, out);
}

void launch_value_means(const SoftmaxParams& p, float* out, Stream stream) {
  launch("means of values", value_means, static_cast<unsigned>(p.d.batch * p.d.kv_heads), kThreads,
         0, stream, p, out);
}

}  // namespace maskctl::attention::cuda
