// Masks on the GPU: the tile tables of their distinct planes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "maskctl/attention/cuda/device.h"
#include "maskctl/mask/arrays/bias.h"
#include "maskctl/mask/blocks/block_map.h"
#include "maskctl/mask/mask.h"
#include "maskctl/tensor/tensor_view.h"

namespace maskctl::attention::cuda {

/// Queries and keys of a tile; a row of a tile is one word of 64 bits.
inline constexpr int kTile = 64;

/// A word whose bits [begin, end) are 1, for begin >= 0 and end <= 64; 0 if end <= begin.
constexpr std::uint64_t bits_between(int begin, int end) {
  if (end <= begin) return 0;
  const std::uint64_t below_end = end == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << end) - 1;
  return below_end & ~((std::uint64_t{1} << begin) - 1);
}

static_assert(bits_between(0, 64) == ~std::uint64_t{0} && bits_between(3, 5) == 0b11000 &&
              bits_between(63, 64) == std::uint64_t{1} << 63 && bits_between(0, -40) == 0);

/// A TileTable (see there) whose arrays are on the GPU. Tile row t has the runs [row_begins[t],
/// row_ends[t]).
struct TileTableView {
  const Index *row_begins, *row_ends;
  const TileRun* runs;
  const Index* partial_offsets;
  const PayloadId* payloads;
  const Run* intervals;
  const std::uint64_t* words;
  const std::uint64_t *used_by_intervals,
      *used_by_words;  // for each payload: the columns that some row opens
  int payload_rows;    // rows per payload; even, so that each begins at a multiple of 16 bytes
  int words_per_row;
};

/// The tile tables of a mask [B or 1, 1 or Hq, Tq, Tk]. Batch entry b and head h have the table
/// tables[table_of[b * heads + h]]; along an axis of extent 1, b or h is 0.
struct MaskView {
  const TileTableView* tables;
  const std::uint32_t* table_of;
  Index batch, heads;
  Index count;  // length of `tables`: the number of distinct planes
};

/// The size of a tile row: how many of its tiles are not empty, how many pairs of neighbouring
/// tiles (0 and 1, 2 and 3, and so on) have at least one such tile, and how many tiles lie between
/// its first and its last one, both included.
struct TileRowSize {
  std::int32_t tiles = 0, pairs = 0, span = 0;
  std::int32_t begin = 0;  // the first tile that is not empty
  std::int32_t end = 0;    // pairs before this one have been counted

  /// Counts the tiles of a run. Runs must be added in ascending order.
  constexpr void add(const TileRun& run) {
    if (tiles == 0) begin = run.first;
    const std::int32_t begin_pair = std::max(run.first / 2, end);
    tiles += run.count, end = (run.first + run.count + 1) / 2, pairs += end - begin_pair;
    span = run.first + run.count - begin;
  }
};

/// The two orders of a tile table: rows of queries over tiles of keys, or rows of keys over tiles
/// of queries.
enum class TileOrder : std::uint8_t { kQueryMajor, kKeyMajor };

/// The tile tables of a mask on the GPU: one for each distinct plane, in one order or in both.
class DeviceTiles {
 public:
  DeviceTiles() = default;
  /// Makes tiles of 64 x 64. The tiles of planes that are stored as bits are found on the GPU, and
  /// the constructor waits for it; those of all other planes are found on the host. `compiled`,
  /// which may be null, is read instead of its plane if its tiles are 64 x 64. Throws Error(kLimit)
  /// for masks whose irregular tiles take more than 4 GiB.
  DeviceTiles(const Mask& mask, const BlockMap* compiled, bool both_orders, Stream stream);
  /// Makes tiles from cells [B or 1, 1 or Hq, Tq, Tk], on the host or on the GPU. Integers and
  /// bools are open where they are not 0; floats are an additive mask, open above `closed_below`.
  DeviceTiles(const TensorView& cells, bool both_orders, Stream stream,
              double closed_below = kAlwaysCloses);

  const MaskView& view(TileOrder order) const {
    return order == TileOrder::kQueryMajor ? query_major_ : key_major_;
  }
  /// The sizes of all tile rows, [tile tables, tile rows]. The host reads them to divide the work
  /// on tile rows among blocks of threads.
  const std::vector<TileRowSize>& sizes(TileOrder order) const {
    return order == TileOrder::kQueryMajor ? query_major_sizes_ : key_major_sizes_;
  }
  /// The index in MaskView::tables of the tile table of batch entry b and head h.
  std::uint32_t table_number(Index b, Index h) const {
    const Index first = query_major_.batch == 1 ? 0 : b * query_major_.heads;
    return table_of_[as_size(first + (query_major_.heads == 1 ? 0 : h))];
  }
  std::size_t bytes() const;

 private:
  class Tables;
  void measure(Index queries, Index keys, Stream stream);

  std::vector<DeviceBuffer> buffers_;
  MaskView query_major_{}, key_major_{};
  std::vector<std::uint32_t> table_of_;
  std::vector<TileRowSize> query_major_sizes_, key_major_sizes_;
};

}  // namespace maskctl::attention::cuda
