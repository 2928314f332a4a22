#include "maskctl/attention/cuda/launch.cuh"
#include "maskctl/attention/cuda/tiles/dense_tables.h"
#include "maskctl/attention/cuda/tiles/tiles.cuh"

namespace maskctl::attention::cuda {
namespace {

constexpr int kThreads = 256;

/// An array of cells, and the rule that says which of them are open.
struct CellArray {
  AnyArray elements;
  int bytes;
  bool floats;  // whether it is an additive mask
  double closed_below;

  __device__ bool is_open(Index i) const {
    const void* const at = static_cast<const char*>(elements.data) + i * bytes;
    if (floats && bytes < 8) return element(elements, i) > static_cast<float>(closed_below);
    if (floats) return *static_cast<const double*>(at) > closed_below;
    switch (bytes) {
      case 1:
        return *static_cast<const std::uint8_t*>(at) != 0;
      case 2:
        return *static_cast<const std::uint16_t*>(at) != 0;
      case 4:
        return *static_cast<const std::uint32_t*>(at) != 0;
      default:
        return *static_cast<const std::uint64_t*>(at) != 0;
    }
  }
};

CellArray cell_array(const TensorView& cells, double closed_below) {
  const bool floats = is_floating(cells.dtype());
  const int bytes = static_cast<int>(size_bytes(cells.dtype()));
  if (floats && bytes < 8) readable(cells.dtype());
  return {{cells.data(), cells.dtype()}, bytes, floats, closed_below};
}

/// Packs cells into bits: each warp makes one word of 64 bits, and each lane reads two cells.
__global__ void pack(CellArray cells, BitPlanes out) {
  const Index word = Index{blockIdx.x} * (kThreads / 32) + threadIdx.x / 32;
  if (word >= out.size()) return;
  const int lane = static_cast<int>(threadIdx.x % 32);
  const Index row = word / out.words_per_row(), key = word % out.words_per_row() * 64 + lane;
  unsigned half[2];
  for (int n = 0; n < 2; ++n) {
    const Index k = key + 32 * n;
    half[n] = __ballot_sync(~0u, k < out.keys && cells.is_open(row * out.keys + k));
  }
  if (lane == 0) out.words[word] = std::uint64_t{half[1]} << 32 | half[0];
}

/// Each warp transposes a tile of 64 x 64 bits; each lane loads two of its rows.
__global__ void transpose(BitPlanes from, BitPlanes to) {
  const Index tile_rows = ceil_div(from.queries, 64), tiles = from.words_per_row();
  const Index tile = Index{blockIdx.x} * (kThreads / 32) + threadIdx.x / 32;
  if (tile >= from.planes * tile_rows * tiles) return;
  const Index column = tile % tiles, tile_row = tile / tiles % tile_rows,
              plane = tile / tiles / tile_rows;
  const int lane = static_cast<int>(threadIdx.x % 32);
  std::uint64_t rows[2];
  for (int n = 0; n < 2; ++n) {
    const Index q = tile_row * 64 + 32 * n + lane;
    rows[n] = q < from.queries ? from.words[(plane * from.queries + q) * tiles + column] : 0;
  }
  for (int bit = 0; bit < 64; ++bit) {
    const unsigned low = __ballot_sync(~0u, rows[0] >> bit & 1);
    const unsigned high = __ballot_sync(~0u, rows[1] >> bit & 1);
    const Index k = column * 64 + bit;
    if (lane == bit % 32 && k < from.keys) {
      to.words[(plane * to.queries + k) * to.words_per_row() + tile_row] =
          std::uint64_t{high} << 32 | low;
    }
  }
}

/// How many of the block's threads before this one have the flag, and how many threads of the block
/// have it.
struct Ranks {
  int before, all;
};
__device__ Ranks ranks_of(bool flag, int (&totals)[kThreads / 32]) {
  const unsigned warp = threadIdx.x / 32, votes = __ballot_sync(~0u, flag);
  if (threadIdx.x % 32 == 0) totals[warp] = __popc(votes);
  __syncthreads();
  Ranks ranks{__popc(votes & ((1u << threadIdx.x % 32) - 1)), 0};
  for (unsigned w = 0; w < kThreads / 32; ++w) {
    if (w < warp) ranks.before += totals[w];
    ranks.all += totals[w];
  }
  __syncthreads();
  return ranks;
}

/// Each block classifies one tile row; each thread takes one tile at a time. Payload n of the table
/// belongs to tile n of the plane.
__global__ void classify(BitPlanes plane, TileTableView table) {
  __shared__ int totals[kThreads / 32];
  const Index t = blockIdx.x, tiles = plane.words_per_row(), first = t * tiles;
  const int rows = static_cast<int>(std::min<Index>(kTile, plane.queries - t * kTile));
  auto* const runs = const_cast<TileRun*>(table.runs);
  auto* const payloads = const_cast<PayloadId*>(table.payloads);
  auto* const words = const_cast<std::uint64_t*>(table.words);
  Index run_count = 0, partial_count = 0;
  for (Index chunk = 0; chunk < tiles; chunk += kThreads) {
    const Index c = chunk + threadIdx.x;
    const bool exists = c < tiles;
    const std::uint64_t whole = bits_between(
        0, static_cast<int>(std::min<Index>(64, plane.keys - std::min(c, tiles) * 64)));
    std::uint64_t any = 0, all = whole;
    for (int r = 0; exists && r < kTile; ++r) {
      const std::uint64_t word = r < rows ? plane.words[(t * kTile + r) * tiles + c] : 0;
      words[(first + c) * kTile + r] = word;
      any |= word;
      if (r < rows) all &= word;
    }
    const bool is_open = exists && any != 0, is_full = is_open && all == whole;
    const Ranks open = ranks_of(is_open, totals), partial = ranks_of(is_open && !is_full, totals);
    if (is_open) {
      runs[first + run_count + open.before] = {static_cast<std::int32_t>(c), 1,
                                               is_full ? Fill::kFull : Fill::kPartial};
    }
    if (exists) const_cast<std::uint64_t*>(table.used_by_words)[first + c] = any;
    if (is_open && !is_full) {
      payloads[first + partial_count + partial.before] = ~static_cast<PayloadId>(first + c);
    }
    run_count += open.all, partial_count += partial.all;
  }
  if (threadIdx.x != 0) return;
  const_cast<Index*>(table.row_begins)[t] = const_cast<Index*>(table.partial_offsets)[t] = first;
  const_cast<Index*>(table.row_ends)[t] = first + run_count;
}

/// Each thread finds the TileRowSize of one tile row.
__global__ void measure(MaskView mask, Index tile_rows, TileRowSize* sizes) {
  const Index n = Index{blockIdx.x} * kThreads + threadIdx.x;
  if (n >= mask.count * tile_rows) return;
  const TileTableView& table = mask.tables[n / tile_rows];
  const Index t = n % tile_rows;
  TileRowSize size;
  for (Index r = table.row_begins[t]; r < table.row_ends[t]; ++r) size.add(table.runs[r]);
  sizes[n] = size;
}

unsigned blocks_of_warps(Index warps) {
  return static_cast<unsigned>(ceil_div(warps, kThreads / 32));
}

}  // namespace

void pack_cells(const TensorView& cells, double closed_below, const BitPlanes& out, Stream stream) {
  launch("pack_cells", pack, blocks_of_warps(out.size()), kThreads, 0, stream,
         cell_array(cells, closed_below), out);
}

void transpose_bits(const BitPlanes& bits, const BitPlanes& out, Stream stream) {
  const Index tiles = bits.planes * ceil_div(bits.queries, 64) * bits.words_per_row();
  launch("transpose_bits", transpose, blocks_of_warps(tiles), kThreads, 0, stream, bits, out);
}

TileTableView place_table(Index queries, Index keys, std::byte* memory) {
  const Index rows = ceil_div(queries, kTile), tiles = rows * ceil_div(keys, kTile);
  TileTableView table{};
  table.words = reinterpret_cast<std::uint64_t*>(memory);
  table.used_by_words = table.words + tiles * kTile;
  table.row_begins = reinterpret_cast<Index*>(memory) + tiles * (kTile + 1);
  table.row_ends = table.row_begins + rows;
  table.partial_offsets = table.row_ends + rows;
  table.runs = reinterpret_cast<const TileRun*>(table.partial_offsets + rows);
  table.payloads = reinterpret_cast<const PayloadId*>(table.runs + tiles);
  table.payload_rows = kTile, table.words_per_row = 1;
  return table;
}

std::size_t table_bytes(Index queries, Index keys) {
  const Index rows = ceil_div(queries, kTile), tiles = rows * ceil_div(keys, kTile);
  return as_size(tiles) *
             ((kTile + 1) * sizeof(std::uint64_t) + sizeof(TileRun) + sizeof(PayloadId)) +
         as_size(rows) * 3 * sizeof(Index);
}

void classify_plane(const BitPlanes& plane, const TileTableView& table, Stream stream) {
  const auto rows = static_cast<unsigned>(ceil_div(plane.queries, kTile));
  launch("classify_plane", classify, rows, kThreads, 0, stream, plane, table);
}

void measure_rows(const MaskView& mask, Index tile_rows, TileRowSize* sizes, Stream stream) {
  const auto blocks = static_cast<unsigned>(ceil_div(mask.count * tile_rows, Index{kThreads}));
  launch("measure_rows", measure, blocks, kThreads, 0, stream, mask, tile_rows, sizes);
}

}  // namespace maskctl::attention::cuda
