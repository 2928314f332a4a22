// The gradients of the logits of one tile, from which every backward kernel starts.
#pragma once

#include "maskctl/attention/cuda/softmax/plain/kernels.h"
#include "maskctl/attention/cuda/softmax/plain/tile.cuh"

namespace maskctl::attention::cuda {

/// Computes `kept`, the weights times their dropout multipliers, and `ds`, the gradients of the
/// scaled products q . k; both are 0 where the tile is closed. If kKeyMajor, rows are keys and
/// `table` is key-major; otherwise rows are queries. `d_bias`, if not null, gets the gradients of
/// the bias. Returns the columns that at least one of the thread's rows opens, as bits.
template <bool kKeyMajor>
__device__ std::uint64_t tile_gradients(const BackwardParams& b, Index batch, Index h,
                                        Index tile_row, const TileTableView& table,
                                        const Tile& tile, TileMemory& memory, Scores& kept,
                                        Scores& ds, Scores* d_bias = nullptr) {
  const SoftmaxParams& p = b.p;
  const Index i0 = (kKeyMajor ? tile.number : tile_row) * kTile;
  const Index j0 = (kKeyMajor ? tile_row : tile.number) * kTile;
  const Index kv_head = h / (p.d.q_heads / p.d.kv_heads);
  const Rows queries = rows_of(p.query, batch, i0, h, p.d.queries);
  const Rows keys = rows_of(p.key, batch, j0, kv_head, p.d.keys);
  const Rows values = rows_of(p.value, batch, j0, kv_head, p.d.keys);
  const Rows d_out = rows_of(b.d_out, batch, i0, h, p.d.queries);
  multiply(kKeyMajor ? keys : queries, kKeyMajor ? queries : keys, p.d.dim, memory, kept);
  multiply(kKeyMajor ? values : d_out, kKeyMajor ? d_out : values, p.d.value_dim, memory, ds);
  const Index first_row = (batch * p.d.q_heads + h) * p.d.queries + i0;
  std::uint64_t opened = 0;
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    const int row = row_of_thread() + r;
    const std::uint64_t open =
        open_columns(table, tile, row, kKeyMajor ? keys.count : queries.count,
                     kKeyMajor ? queries.count : keys.count);
    opened |= open;
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      const int column = column_of_thread() + c;
      const int i = kKeyMajor ? column : row, j = kKeyMajor ? row : column;
      float weight = 0, multiplied = 0, d_logit = 0, derivative = 1;
      const float lse = open >> column & 1 ? b.lse[first_row + i] : -kInfinity;
      if (lse != -kInfinity) {
        const float s = logit(p, batch, h, i0 + i, j0 + j, kept[r][c], derivative);
        weight = expf(s - lse);
        multiplied = multiplier(p, batch, h, i0 + i, j0 + j);
        d_logit = weight * (multiplied * ds[r][c] - b.delta[first_row + i]);
      }
      kept[r][c] = weight * multiplied;
      ds[r][c] = d_logit * derivative;
      if (d_bias) (*d_bias)[r][c] = p.bias_after_cap ? d_logit : d_logit * derivative;
    }
  }
  return opened;
}

}  // namespace maskctl::attention::cuda
