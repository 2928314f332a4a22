// The gradient of the bias. A block computes one tile of it for some of the batch entries, heads
// and tiles of queries that broadcast to it; a second kernel adds up the blocks' results in order.
#include "maskctl/attention/cuda/softmax/plain/gradients.cuh"

namespace maskctl::attention::cuda {
namespace {

/// How a bias is divided into tiles.
struct BiasTiles {
  Index batch, heads, queries, keys;  // shape of the bias
  Index query_tiles, key_tiles;       // 1 along axes of extent 1
  Index parts;                        // how many blocks share a tile

  __host__ __device__ Index elements() const { return batch * heads * queries * keys; }
};

/// Writes sums[column][row] to the elements of the bias, summed along axes where the bias has
/// extent 1.
__device__ void write_sums(const BiasTiles& cut, const float (*sums)[kPitch], Index plane, Index i0,
                           Index j0, float* out) {
  const bool one_query = cut.queries == 1, one_key = cut.keys == 1;
  const int rows = one_query ? kTile : 1, columns = one_key ? kTile : 1;
  const int wanted = (one_query ? 1 : kTile) * (one_key ? 1 : kTile);
  for (int n = static_cast<int>(threadIdx.x); n < wanted; n += kThreads) {
    const int j = one_key ? 0 : n % kTile, i = one_key ? n : n / kTile;
    if (i0 + i >= cut.queries || j0 + j >= cut.keys) continue;
    float sum = 0;
    for (int c = 0; c < columns; ++c) {
      for (int r = 0; r < rows; ++r) sum += sums[j + c][i + r];
    }
    out[(plane * cut.queries + i0 + i) * cut.keys + j0 + j] = sum;
  }
}

__global__ void __launch_bounds__(kThreads)
    bias_gradient(BackwardParams b, BiasTiles cut, float* partial) {
  __shared__ TileMemory memory;
  const Dims& d = b.p.d;
  const Index n = blockIdx.x;
  const Index j_tile = n % cut.key_tiles, i_tile = n / cut.key_tiles % cut.query_tiles,
              plane = n / cut.key_tiles / cut.query_tiles;
  const Index batches = cut.batch == 1 ? d.batch : 1, heads = cut.heads == 1 ? d.q_heads : 1,
              tile_rows = cut.queries == 1 ? ceil_div(d.queries, kTile) : 1;
  Scores sums = {};
  for (Index item = blockIdx.y; item < batches * heads * tile_rows; item += gridDim.y) {
    const Index batch = batches == 1 ? plane / cut.heads : item / tile_rows / heads;
    const Index h = heads == 1 ? plane % cut.heads : item / tile_rows % heads;
    const Index tile_row = cut.queries == 1 ? item % tile_rows : i_tile;
    const TileTableView& table = table_of(b.p.by_query, batch, h);
    for_each_tile(table, tile_row, [&](const Tile& tile) {
      if (cut.keys != 1 && tile.number != j_tile) return;
      Scores kept, ds, found;
      tile_gradients<false>(b, batch, h, tile_row, table, tile, memory, kept, ds, &found);
      for (int r = 0; r < 4; ++r) {
        for (int c = 0; c < 4; ++c) sums[r][c] += found[r][c];
      }
    });
  }
  put_weights(sums, 0, memory);
  __syncthreads();
  write_sums(cut, memory.weights, plane, i_tile * kTile, j_tile * kTile,
             partial + Index{blockIdx.y} * cut.elements());
}

__global__ void add_parts(const float* partial, Index parts, Index elements, AnyResult out) {
  const Index n = Index{blockIdx.x} * kThreads + threadIdx.x;
  if (n >= elements) return;
  float sum = 0;
  for (Index part = 0; part < parts; ++part) sum += partial[part * elements + n];
  put(out, n, sum);
}

/// Returns how many blocks share a tile: enough to fill a GPU, as long as their sums take little
/// memory.
Index parts_of(const BiasTiles& cut, const Dims& d) {
  constexpr Index kEnoughBlocks = 2048, kMostElements = Index{1} << 26;
  const Index items = (cut.batch == 1 ? d.batch : 1) * (cut.heads == 1 ? d.q_heads : 1) *
                      (cut.queries == 1 ? ceil_div(d.queries, kTile) : 1);
  const Index blocks = cut.batch * cut.heads * cut.query_tiles * cut.key_tiles;
  const Index wanted = std::min({items, ceil_div(kEnoughBlocks, std::max<Index>(blocks, 1)),
                                 kMostElements / std::max<Index>(cut.elements(), 1)});
  return std::max<Index>(wanted, 1);
}

}  // namespace

void launch_bias_gradient(Workspace& workspace, const BackwardParams& b, const Index (&shape)[4],
                          AnyResult d_bias) {
  BiasTiles cut{
      shape[0], shape[1], shape[2], shape[3], ceil_div(shape[2], kTile), ceil_div(shape[3], kTile),
      1};
  if (cut.elements() == 0) return;
  cut.parts = parts_of(cut, b.p.d);
  const Workspace::Scope scope(workspace);
  float* const partial = workspace.take<float>(cut.parts * cut.elements());
  const dim3 grid(static_cast<unsigned>(cut.batch * cut.heads * cut.query_tiles * cut.key_tiles),
                  static_cast<unsigned>(cut.parts));
  launch("softmax_backward: d_bias", bias_gradient, grid, kThreads, 0, workspace.stream(), b, cut,
         partial);
  launch("softmax_backward: sum of d_bias", add_parts,
         static_cast<unsigned>(ceil_div(cut.elements(), kThreads)), kThreads, 0, workspace.stream(),
         partial, cut.parts, cut.elements(), d_bias);
}

}  // namespace maskctl::attention::cuda
