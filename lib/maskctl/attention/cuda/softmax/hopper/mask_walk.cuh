// How kernels for Hopper GPUs read a mask: tile rows of several 64 x 64 tiles side by side.
#pragma once

#include <cstdint>

#include "maskctl/attention/cuda/tiles/tiles.cuh"

namespace maskctl::attention::cuda::hopper {

/// What a tile of 64 x 64 opens: all cells, no cells, or the cells that a payload in the tile table
/// lists.
using Cells = std::int32_t;
inline constexpr Cells kAllCells = 0x7fffffff, kNoCells = kAllCells - 1;

/// Iterates over one row of 64 x 64 tiles, from its first tile that is not empty to its last. The
/// table is passed to each call, because producers have few registers.
class TileRowWalk {
 public:
  TileRowWalk() = default;
  /// A tile row past the end has no tiles.
  __device__ TileRowWalk(const TileTableView& table, Index tile_row, Index tile_rows) {
    if (tile_row < tile_rows) {
      run_ = static_cast<int>(table.row_begins[tile_row]);
      end_ = static_cast<int>(table.row_ends[tile_row]);
      partial_ = static_cast<int>(table.partial_offsets[tile_row]);
    }
    enter(table);
  }
  /// The number of the next tile that is not empty; kNone at the end.
  __device__ int next() const { return at_; }
  /// What tile number n opens, for n <= next(). Tiles are taken in ascending order, each at most
  /// once.
  __device__ Cells take(const TileTableView& table, int n) {
    if (at_ != n) return kNoCells;
    const Cells cells = is_full_ ? kAllCells : table.payloads[partial_++];
    if (++at_ == until_) ++run_, enter(table);
    return cells;
  }
  /// Skips all tiles before tile n.
  __device__ void skip_to(const TileTableView& table, int n) {
    while (at_ != kNone && until_ <= n) {
      if (!is_full_) partial_ += until_ - at_;
      ++run_, enter(table);
    }
    if (at_ >= n) return;
    if (!is_full_) partial_ += n - at_;
    at_ = n;
  }
  static constexpr int kNone = 0x7fffffff;

 private:
  __device__ void enter(const TileTableView& table) {
    at_ = kNone;
    if (run_ >= end_) return;
    const TileRun run = table.runs[run_];
    at_ = run.first, until_ = run.first + run.count, is_full_ = run.fill == Fill::kFull;
  }

  int run_ = 0, end_ = 0, partial_ = 0;
  int at_ = 0, until_ = 0;  // the next tile of the run, and the run's end (exclusive)
  bool is_full_ = false;
};

/// A tile of (64 kRows) x (64 kColumns) cells.
template <int kRows, int kColumns>
struct WideTile {
  int number;  // the tile's position in its tile row
  Cells cells[kRows][kColumns];
};

/// Iterates over one row of tiles of (64 kRows) x (64 kColumns) cells; skips tiles without an open
/// cell.
template <int kRows, int kColumns>
class WideWalk {
 public:
  __device__ WideWalk(const TileTableView& table, Index tile_row, Index rows) : table_(table) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      rows_[r] = TileRowWalk(table, tile_row * kRows + r, ceil_div(rows, kTile));
    }
  }
  __device__ void skip_to(int number) {
#pragma unroll
    for (TileRowWalk& row : rows_) row.skip_to(table_, number * kColumns);
  }
  __device__ bool is_at_end() const { return first() == TileRowWalk::kNone; }
  __device__ WideTile<kRows, kColumns> next() {
    WideTile<kRows, kColumns> tile;
    tile.number = first() / kColumns;
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
#pragma unroll
      for (int c = 0; c < kColumns; ++c) {
        tile.cells[r][c] = rows_[r].take(table_, tile.number * kColumns + c);
      }
    }
    return tile;
  }

 private:
  __device__ int first() const {
    int n = rows_[0].next();
#pragma unroll
    for (int r = 1; r < kRows; ++r) n = min(n, rows_[r].next());
    return n;
  }
  const TileTableView& table_;
  TileRowWalk rows_[kRows];
};

/// The first n of the 64 columns of a tile, as bits; n may be below 0 or above 64. (ptxas 13.0
/// miscompiles a version with min, max and bits_between: it mistakes the predicate of a fused
/// instruction.)
__device__ inline std::uint64_t first_columns(int n) {
  if (n >= 64) return ~std::uint64_t{0};
  return n > 0 ? ~(~std::uint64_t{0} << n) : 0;
}

inline bool constexpr has_payload(Cells cells) { return cells < kNoCells; }

/// payload_of() returns the payload of a tile (which of its cells are open) in GPU memory. Each row
/// of a payload takes 8 bytes: a word of bits, or an interval of keys.
static_assert(sizeof(Run) == sizeof(std::uint64_t));
__device__ inline const std::uint64_t* payload_of(const TileTableView& table, Cells cells) {
  const Index rows = table.payload_rows;
  if (cells < 0) return table.words + ~cells * rows;
  return reinterpret_cast<const std::uint64_t*>(table.intervals) + cells * rows;
}

/// The columns that row `row` of a 64 x 64 tile opens, as bits. `rows`: the number of rows of its
/// payload, if it has one.
__device__ inline std::uint64_t open_word(Cells cells, const std::uint64_t* payload, int rows,
                                          int row) {
  if (cells == kAllCells) return ~std::uint64_t{0};
  if (cells == kNoCells || row >= rows) return 0;
  const std::uint64_t bits = payload[row];
  if (cells < 0) return bits;
  return bits_between(static_cast<std::int32_t>(bits), static_cast<std::int32_t>(bits >> 32));
}

/// open_word() of rows `row` and `row` + 8, the two rows of a thread in a fragment, without a
/// branch for each.
__device__ inline void open_words(Cells cells, const std::uint64_t* payload, int rows, int row,
                                  std::uint64_t (&open)[2]) {
  open[0] = open[1] = cells == kAllCells ? ~std::uint64_t{0} : 0;
  if (!has_payload(cells)) return;
#pragma unroll
  for (int side = 0; side < 2; ++side) {
    if (row + 8 * side < rows) open[side] = payload[row + 8 * side];
  }
  if (cells < 0) return;
#pragma unroll
  for (std::uint64_t& bits : open) {
    bits = bits_between(static_cast<std::int32_t>(bits), static_cast<std::int32_t>(bits >> 32));
  }
}

/// The columns that at least one row of a 64 x 64 tile opens, as bits.
__device__ inline std::uint64_t used_columns(const TileTableView& table, Cells cells) {
  if (cells == kAllCells) return ~std::uint64_t{0};
  if (cells == kNoCells) return 0;
  return cells < 0 ? table.used_by_words[~cells] : table.used_by_intervals[cells];
}

/// Packs the bits of those columns of a row of 64 that the thread has in a fragment, which are 8 j
/// + 2 (t % 4) and the next one for j = 0 .. 7, into one word for is_open(). Four bits of each byte
/// are used, the others are undefined.
__device__ inline std::uint32_t own_columns(std::uint64_t row) {
  const unsigned begin = threadIdx.x % 4 * 2;
  const auto first = static_cast<std::uint32_t>(row), last = static_cast<std::uint32_t>(row >> 32);
  constexpr std::uint32_t kOfFirst = 0x03030303;
  return (first >> begin & kOfFirst) | (__funnelshift_l(last, last, 2 - begin) & ~kOfFirst);
}
/// Whether element i of a fragment is open, given own_columns() of its row.
__device__ constexpr bool is_open(std::uint32_t own, int i) {
  return (own >> (i / 4 % 4 * 8 + i / 16 * 2 + i % 2) & 1) != 0;
}

}  // namespace maskctl::attention::cuda::hopper
