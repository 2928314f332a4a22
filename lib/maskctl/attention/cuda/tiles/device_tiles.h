// Masks on the GPU: the tile tables of their distinct planes.
#pragma once

#include <cstdint>

#include "maskctl/attention/cuda/device.h"
#include "maskctl/mask/block_map.h"
#include "maskctl/mask/mask.h"

namespace maskctl::attention::cuda {

/// A TileTable whose arrays are on the GPU; see there.
struct TileTableView {
  const Index* row_offsets;
  const TileRun* runs;
  const Index* partial_offsets;
  const PayloadId* payloads;
  const Run* intervals;
  const std::uint64_t* words;
  int payload_rows, words_per_row;
};

/// The tables of a mask [B or 1, 1 or Hq, Tq, Tk]: that of (b, h) is tables[table_of[b * heads +
/// h]] where an axis of 1 counts as 0.
struct MaskView {
  const TileTableView* tables;
  const std::uint32_t* table_of;
  Index batch, heads;
};

/// Whose tile rows a table has: queries against tiles of keys, or keys against tiles of queries.
enum class TileOrder : std::uint8_t { kQueryMajor, kKeyMajor };

/// One copy of each distinct plane, in one order or in both.
class DeviceTiles {
 public:
  DeviceTiles() = default;
  /// Tiles of `tile` queries and as many keys. `compiled`, which may be null, is read instead of
  /// its plane where it has these tiles. Throws Error(kLimit) for masks whose irregular tiles take
  /// more than 4 GiB.
  DeviceTiles(const Mask& mask, const BlockMap* compiled, Index tile, bool both_orders,
              Stream stream);

  const MaskView& view(TileOrder order) const {
    return order == TileOrder::kQueryMajor ? query_major_ : key_major_;
  }
  std::size_t bytes() const { return buffer_.bytes(); }

 private:
  DeviceBuffer buffer_;
  MaskView query_major_{}, key_major_{};
};

}  // namespace maskctl::attention::cuda
