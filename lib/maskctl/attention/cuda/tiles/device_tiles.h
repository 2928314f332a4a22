// Masks on the GPU: the tile tables of their distinct planes.
#pragma once

#include <cstdint>
#include <vector>

#include "maskctl/attention/cuda/device.h"
#include "maskctl/mask/arrays/bias.h"
#include "maskctl/mask/blocks/block_map.h"
#include "maskctl/mask/mask.h"
#include "maskctl/tensor/tensor_view.h"

namespace maskctl::attention::cuda {

/// Queries and keys of a tile of the plain kernels: a row of a tile is one word.
inline constexpr int kTile = 64;

/// Bits [begin, end) of a word, 0 <= begin, end <= 64; none when end <= begin.
constexpr std::uint64_t bits_between(int begin, int end) {
  if (end <= begin) return 0;
  const std::uint64_t below_end = end == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << end) - 1;
  return below_end & ~((std::uint64_t{1} << begin) - 1);
}

static_assert(bits_between(0, 64) == ~std::uint64_t{0} && bits_between(3, 5) == 0b11000 &&
              bits_between(63, 64) == std::uint64_t{1} << 63 && bits_between(0, -40) == 0);

/// A TileTable whose arrays are on the GPU; see there. Tile row t has the runs from row_begins[t]
/// to row_ends[t].
struct TileTableView {
  const Index *row_begins, *row_ends;
  const TileRun* runs;
  const Index* partial_offsets;
  const PayloadId* payloads;
  const Run* intervals;
  const std::uint64_t* words;
  const std::uint64_t *used_by_intervals,
      *used_by_words;  // columns that some row of a payload opens
  int payload_rows;    // even, so that each payload begins at a multiple of 16 bytes
  int words_per_row;
};

/// The tables of a mask [B or 1, 1 or Hq, Tq, Tk]: (b, h) has tables[table_of[b * heads + h]],
/// where b or h is 0 along an axis of 1.
struct MaskView {
  const TileTableView* tables;
  const std::uint32_t* table_of;
  Index batch, heads;
  Index count;  // number of tables
};

/// Whose tile rows a table has: queries against tiles of keys, or keys against tiles of queries.
enum class TileOrder : std::uint8_t { kQueryMajor, kKeyMajor };

/// One copy of each distinct plane, in one order or in both.
class DeviceTiles {
 public:
  DeviceTiles() = default;
  /// Tiles of 64 x 64. Planes that are stored as bits are classified on the GPU, others by the host
  /// from their structure. `compiled`, which may be null, is read instead of its plane where it has
  /// such tiles. Throws Error(kLimit) for masks whose irregular tiles take more than 4 GiB.
  DeviceTiles(const Mask& mask, const BlockMap* compiled, bool both_orders, Stream stream);
  /// From cells [B or 1, 1 or Hq, Tq, Tk], on the host or on the GPU. Integers and bools open where
  /// they are not 0; floats, an additive mask, above `closed_below`.
  DeviceTiles(const TensorView& cells, bool both_orders, Stream stream,
              double closed_below = kAlwaysCloses);

  const MaskView& view(TileOrder order) const {
    return order == TileOrder::kQueryMajor ? query_major_ : key_major_;
  }
  std::size_t bytes() const;

 private:
  struct Tables;
  void finish(Tables& tables, const std::vector<std::uint32_t>& table_of, Index batch, Index heads,
              Stream stream);

  std::vector<DeviceBuffer> buffers_;
  MaskView query_major_{}, key_major_{};
};

}  // namespace maskctl::attention::cuda
