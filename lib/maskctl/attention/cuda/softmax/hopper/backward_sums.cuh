// Turns the sums of a tile of keys into gradients: directly if one block computes them, or through
// f32 memory if several blocks compute parts of them.
#pragma once

#include "maskctl/attention/cuda/softmax/hopper/backward_call.cuh"

namespace maskctl::attention::cuda::hopper {

/// Where in memory the 64 x 64 pieces of the sums are that a part (a share of the work on a tile of
/// keys) computes: [part][d_key, d_value][rows][panels].
struct SumsOfPart {
  int rows, panels;  // a tile of keys has 64 * rows keys and 64 * panels columns

  constexpr int count() const { return 2 * rows * panels; }
  constexpr Index piece(int part, bool is_value, int row, int panel) const {
    return ((Index{part} * 2 + (is_value ? 1 : 0)) * rows + row) * panels + panel;
  }
};

/// Writes 64 x 64 elements of the gradients of keys or values: keys from `first` on, and the 64
/// dimensions of a panel. x: the thread's fragment of the warpgroup's sums.
template <class T, bool kIsValue>
__device__ __forceinline__ void store_gradient(const BackwardCall& c, const KeyTile& tile,
                                               Index first, int panel, float* x) {
  const Dims& d = c.b.p.d;
  const Index dim = kIsValue ? d.value_dim : d.dim;
  const int begin = panel * kPanel;
  if (kIsValue && c.mean_shares) {
    const float* const shares =
        c.mean_shares + (tile.batch * d.kv_heads + tile.kv_head) * d.value_dim;
#pragma unroll
    for (int i = 0; i < 32; ++i) {
      const int column = begin + fragment_column(static_cast<int>(threadIdx.x) % 128, i);
      if (column < dim) x[i] += shares[column];
    }
  }
  const Index row = (tile.batch * d.keys + first) * d.kv_heads + tile.kv_head;
  store_piece(x, kIsValue ? 1 : c.b.p.scale,
              static_cast<T*>(kIsValue ? c.d_value : c.d_key) + row * dim + begin, d.kv_heads * dim,
              static_cast<int>(min(d.keys - first, Index{kTile})), static_cast<int>(dim) - begin);
}

}  // namespace maskctl::attention::cuda::hopper
