// Runs the kernels of backward.cuh: prepares their arrays, and writes results in the caller's
// dtype.
#include "maskctl/attention/cuda/hopper/tensor_map.cuh"
#include "maskctl/attention/cuda/softmax/hopper/backward.cuh"
#include "maskctl/attention/cuda/softmax/hopper/backward.h"

namespace maskctl::attention::cuda::hopper {
namespace {

constexpr int kMostColumns = 256;

/// The dot product of two vectors of eight elements.
template <class T>
__device__ float dot(const uint4& x, const uint4& y) {
  const T *const a = reinterpret_cast<const T*>(&x), *const b = reinterpret_cast<const T*>(&y);
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 8; ++i) sum = fmaf(to_float(a[i]), to_float(b[i]), sum);
  return sum;
}

constexpr int kLanesOfRow = 8, kRowThreads = 256;

/// Clears BackwardCall::d_query and BackwardCall::turns where they must be zero before the backward
/// kernel starts.
struct EmptySums {
  float* d_query;  // null: need not be zero, because blocks that take turns store their first sums
  int* turns;      // null: blocks add to d_query in any order, without taking turns
  int panels;

  /// Clears the turns and the sums that belong to row n. Rows are numbered over all tiles of
  /// queries. All lanes that work on the row must call it.
  __device__ void clear(Index n, int lane) const {
    if (turns && n % kTile < panels && lane == 0) turns[n / kTile * panels + n % kTile] = 0;
    if (!d_query) return;
    auto* const share = reinterpret_cast<float4*>(d_query + n * panels * kPanel);
    for (int i = lane; i < panels * kPanel / 4; i += kLanesOfRow) share[i] = {};
  }
};

/// Computes delta = out . d_out - d_lse and BackwardCall::rows, and clears the sums.
template <class T>
__global__ void __launch_bounds__(kRowThreads)
    prepare_rows(BackwardParams b, Index query_tiles, float* delta, float* rows, EmptySums sums) {
  let_next_kernel_begin();
  await_previous_kernel();
  const Dims& d = b.p.d;
  const Index n = (Index{blockIdx.x} * kRowThreads + threadIdx.x) / kLanesOfRow;
  const Index tile = n / kTile, row = tile / query_tiles;
  const Index query = tile % query_tiles * kTile + n % kTile;
  const bool is_of_tile = row < d.batch * d.q_heads, exists = is_of_tile && query < d.queries;
  const Index batch = row / d.q_heads, head = row % d.q_heads;
  if (is_of_tile) sums.clear(n, static_cast<int>(threadIdx.x) % kLanesOfRow);
  float sum = 0;
  if (exists) {
    const auto at = [&](const HeadsView& array) {
      return static_cast<const T*>(array.data) + batch * array.batch_stride +
             query * array.token_stride + head * array.head_stride;
    };
    const T *const out = at(b.out), *const d_out = at(b.d_out);
    for (Index c = threadIdx.x % kLanesOfRow * 8; c < d.value_dim; c += kLanesOfRow * 8) {
      sum += dot<T>(*reinterpret_cast<const uint4*>(out + c),
                    *reinterpret_cast<const uint4*>(d_out + c));
    }
  }
  sum = sum_of_lanes<kLanesOfRow>(sum);
  if (threadIdx.x % kLanesOfRow != 0 || !is_of_tile) return;
  float lse = -kInfinity;
  if (exists) {
    lse = b.lse[row * d.queries + query];
    if (b.d_lse.data) sum -= element(b.d_lse, row * d.queries + query);
    delta[row * d.queries + query] = sum;
  }
  float* const to = rows + tile * 2 * kTile + n % kTile;
  to[0] = lse != -kInfinity ? lse * kLog2E : kInfinity;
  to[kTile] = lse != -kInfinity ? sum : 0;
}

/// Multiplies the 64 x 64 pieces of d_query by the scale, and writes them to the result array.
/// Blocks begin with the last piece, because it is still in the L2 cache. `together`: how many
/// pieces have one turn.
template <class T>
__global__ void __launch_bounds__(128) convert_pieces(const __grid_constant__ BackwardCall call,
                                                      int panels, int together, T* d_query) {
  const Dims& d = call.b.p.d;
  const Index piece = gridDim.x - 1 - blockIdx.x, tile = piece / panels;
  const Index row = tile / call.query_tiles;
  const Index query = tile % call.query_tiles * kTile;
  const int column = static_cast<int>(piece % panels) * kPanel;
  if (query >= d.queries || column >= d.dim) return;
  await_previous_kernel();
  float x[32] = {};
  /// Whether this piece has sums: without turns all pieces do, otherwise only those in which some
  /// block has stored sums.
  const bool is_met = !call.turns || call.turns[piece / together * together] != 0;
  if (is_met) add_piece(call.d_query + piece * kPieceFloats, x);
  const Index batch = row / d.q_heads, head = row % d.q_heads;
  store_piece(x, call.b.p.scale,
              d_query + ((batch * d.queries + query) * d.q_heads + head) * d.dim + column,
              d.q_heads * d.dim, static_cast<int>(std::min(d.queries - query, Index{kTile})),
              static_cast<int>(d.dim) - column);
}

/// Adds up the sums of each tile of keys that several blocks share, in the order of its parts, and
/// writes the gradients. A block writes one 64 x 64 piece. The grid also has blocks for every
/// further part of a tile, which do nothing.
template <class T>
__global__ void __launch_bounds__(128)
    add_parts(const __grid_constant__ BackwardCall call, SumsOfPart sums) {
  const KeyPart part = call.split[blockIdx.x / sums.count()];
  if (part.nth != 0) return;
  const int n = static_cast<int>(blockIdx.x) % sums.count(), panel = n % sums.panels;
  const int row = n / sums.panels % sums.rows;
  const bool is_value = n / sums.panels / sums.rows != 0;
  const Index first = (Index{part.tile.number} * sums.rows + row) * kTile;
  if (first >= call.b.p.d.keys) return;
  float x[32] = {};
  for (int i = 0; i < part.of; ++i) {
    add_piece(call.sums + sums.piece(part.sums + i, is_value, row, panel) * kPieceFloats, x);
  }
  if (is_value) {
    store_gradient<T, true>(call, part.tile, first, panel, x);
  } else {
    store_gradient<T, false>(call, part.tile, first, panel, x);
  }
}

unsigned blocks_of(Index n, Index of) { return static_cast<unsigned>(ceil_div(n, of)); }

Launch* kernel_for(int width, bool is_fine) {
  if (width == 256) return launch_256;
  if (width == 128) return is_fine ? launch_fine_128 : launch_128;
  return is_fine ? launch_fine_64 : launch_64;
}

}  // namespace

std::string unsupported_backward(const BackwardParams& b) {
  const Dims& d = b.p.d;
  if (d.batch * d.queries * d.keys * d.dim * d.value_dim == 0) return "an axis has no extent";
  if (std::max(d.dim, d.value_dim) > kMostColumns) return "rows are longer than 256 elements";
  if (d.dim % 8 != 0 || d.value_dim % 8 != 0) return "rows are no multiple of 16 bytes";
  for (const HeadsView* array : {&b.p.query, &b.p.key, &b.p.value, &b.out, &b.d_out}) {
    if (std::string why = unreadable(*array); !why.empty()) return why;
    if (array->dtype != b.p.query.dtype) return "arrays have several dtypes";
  }
  return "";
}

void backward(Workspace& workspace, const BackwardParams& b, const KeyOrder& order,
              bool deterministic, float* delta, const float* mean_shares, void* d_query,
              void* d_key, void* d_value) {
  const Dims& d = b.p.d;
  const Stream stream = workspace.stream();
  const int width = width_of(d), panels = width / kPanel;
  const BackwardTiles tiles = backward_tiles(width, order.is_fine);
  const SumsOfPart parts{tiles.keys / kTile, panels};
  const Workspace::Scope scope(workspace);
  const Index query_tiles = ceil_div(d.queries, tiles.queries) * (tiles.queries / kTile);
  const Index pieces = d.batch * d.q_heads * query_tiles * panels;
  auto* const rows = workspace.take<float>(d.batch * d.q_heads * query_tiles * 2 * kTile);
  auto* const sums = workspace.take<float>(pieces * kPieceFloats);
  int* const turns = deterministic ? workspace.take<int>(pieces) : nullptr;
  float* const zeros = deterministic && stores_first(width) ? nullptr : sums;
  with_16_bits(b.p.query.dtype, [&]<class T>(std::type_identity<T>) {
    launch_early("softmax_backward: rows", prepare_rows<T>,
                 blocks_of(d.batch * d.q_heads * query_tiles * kTile, kRowThreads / kLanesOfRow),
                 kRowThreads, 0, stream, b, query_tiles, delta, rows,
                 EmptySums{zeros, turns, panels});
  });
  const BackwardCall call{
      b,
      tensor_map(b.p.query, d.batch, d.queries, d.q_heads, d.dim, tiles.queries),
      tensor_map(b.p.key, d.batch, d.keys, d.kv_heads, d.dim, tiles.keys),
      tensor_map(b.p.value, d.batch, d.keys, d.kv_heads, d.value_dim, tiles.keys),
      tensor_map(b.d_out, d.batch, d.queries, d.q_heads, d.value_dim, tiles.queries),
      rows,
      sums,
      turns,
      order.walks(),
      static_cast<int>(query_tiles),
      static_cast<int>(d.group()),
      order.parts(deterministic),
      order.split(deterministic),
      workspace.take<float>(Index{order.split_count} * parts.count() * kPieceFloats),
      mean_shares,
      d_key,
      d_value};
  kernel_for(width, order.is_fine)(call, order.count, stream);
  with_16_bits(b.p.query.dtype, [&]<class T>(std::type_identity<T>) {
    launch_early("softmax_backward: d_query in order", convert_pieces<T>,
                 static_cast<unsigned>(pieces), 128, 0, stream, call, panels, tiles.pieces,
                 static_cast<T*>(d_query));
    launch("softmax_backward: sums of parts", add_parts<T>,
           static_cast<unsigned>(order.split_count * parts.count()), 128, 0, stream, call, parts);
  });
}

}  // namespace maskctl::attention::cuda::hopper
