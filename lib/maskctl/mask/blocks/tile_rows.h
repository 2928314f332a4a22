// The tiles of a plane, and the cells of partial tiles, one tile row at a time, as kernels read
// masks.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "maskctl/mask/plane.h"
#include "maskctl/mask/planes/bands.h"

namespace maskctl {

/// The payload (cells) of a partial tile: entry n of TilePayloads::intervals if n >= 0, else entry
/// ~n of TilePayloads::words.
using PayloadId = std::int32_t;

/// The cells of partial tiles of `rows` queries x `keys` keys, in two arrays that can be copied to
/// a device unchanged. Tiles at the edge of the plane are padded with closed cells. Payloads of the
/// same size are equal exactly when their tiles have the same open cells.
struct TilePayloads {
  Index rows = 0, keys = 0;
  /// Tiles in which every row has at most one run: for each row the keys [begin, end), relative to
  /// the tile; {0, 0} for none.
  std::vector<Run> intervals;
  /// All other tiles, as bits: row-major, words_per_row() words per row; key k is bit k % 64 of
  /// word k / 64.
  std::vector<std::uint64_t> words;

  Index words_per_row() const { return ceil_div(keys, 64); }
  std::span<const Run> intervals_of(PayloadId id) const;
  std::span<const std::uint64_t> words_of(PayloadId id) const;
};

/// A view of the cells of one partial tile. Keys are relative to the tile.
class TileCells {
 public:
  TileCells() = default;
  TileCells(const TilePayloads& pools, PayloadId id);

  /// The range from the first to the last open key of a row; empty if there is none.
  Range span(Index row) const { return is_words() ? span_of_words(row) : span_of_interval(row); }
  /// Calls f(range) for ascending ranges that together are all closed keys of the row inside
  /// `keys`.
  template <class F>
  void each_closed(Index row, Range keys, F&& f) const;
  bool is_words() const { return words_ != nullptr; }
  /// The words of a row; only if is_words().
  const std::uint64_t* words(Index row) const { return words_ + row * words_per_row_; }

 private:
  Range span_of_interval(Index row) const { return {intervals_[row].begin, intervals_[row].end}; }
  Range span_of_words(Index row) const;
  template <class F>
  static void each_clear(const std::uint64_t* words, Range bits, F&& f);

  const Run* intervals_ = nullptr;
  const std::uint64_t* words_ = nullptr;
  Index words_per_row_ = 0;
};

/// One tile row: its non-empty tiles, and the payloads (the cells) of the partial ones in the same
/// order.
struct TileRow {
  std::span<const TileRun> runs;
  std::span<const PayloadId> payloads;
  const TilePayloads* pools = nullptr;
};

/// Reads one tile row after another, of any plane, and reuses its memory for each.
class TileRowReader {
 public:
  /// Both sizes must be from 1 to 2^31 - 1.
  TileRowReader(Index q_tile, Index k_tile);

  /// Reads the tile row of queries q, at most q_tile of them. Valid until the next call.
  TileRow read(const Plane& plane, Range q);
  /// read() for tiles that Plane::tiles() has already given. `runs` must outlive the result.
  TileRow read(const Plane& plane, Range q, std::span<const TileRun> runs);

 private:
  void start(std::span<const TileRun> runs);
  /// Writes the open cells of rows q into the partial tiles. In the rows of a slab, the open keys
  /// are bands between two straight lines, so cells are computed from these lines, without reading
  /// the plane row by row.
  void put_slabs(std::span<const Slab> slabs, Range q);
  void put_bands(std::span<const Band> bands, Range q, Index first_row);
  void put_band(const Band& band, Range q, Index first_row);
  void put_run(Range rows, Run run);
  void put_runs(Range rows, std::span<const Run> runs);
  void put_words(Range rows, std::span<const std::uint64_t> words);
  // Opens the keys `open` in the given rows of a partial tile; rows and keys are relative to it.
  void put(std::size_t tile, Range rows, Run open);
  void put_into_words(std::size_t tile, Range rows, Run open);
  void put(std::size_t tile, Range rows, std::span<const std::uint64_t> words);
  /// Converts a tile from intervals to words; `rows` of its rows have been written.
  void change_to_words(std::size_t tile, Index rows);
  bool is_words(std::size_t tile) const { return ids_[tile] < 0; }

  std::vector<TileRun> runs_;
  std::vector<std::int32_t> starts_;  // the first key of each partial tile
  std::vector<PayloadId> ids_;        // ids_[i] is i, or ~n if partial tile i is entry n of words
  TilePayloads payloads_;             // grows but never shrinks
  PayloadId words_used_ = 0;
  std::vector<std::uint64_t> row_;  // scratch: one row of a tile
  std::vector<Run> runs_of_row_;
};

template <class F>
void TileCells::each_closed(Index row, Range keys, F&& f) const {
  if (is_words()) return each_clear(words(row), keys, f);
  const Range open = intersect(span_of_interval(row), keys);
  if (open.empty()) {
    if (!keys.empty()) f(keys);
    return;
  }
  if (keys.begin < open.begin) f(Range{keys.begin, open.begin});
  if (open.end < keys.end) f(Range{open.end, keys.end});
}

/// Calls f(range) for ascending ranges that together are the clear bits among `bits`. No range
/// crosses a word boundary, so a long one is given in pieces.
template <class F>
void TileCells::each_clear(const std::uint64_t* words, Range bits, F&& f) {
  for (Index first = bits.begin; first < bits.end;) {
    const Index end = std::min(bits.end, (first / 64 + 1) * 64);
    std::uint64_t clear = ~words[first / 64] >> (first % 64);
    if (end - first < 64) clear &= (std::uint64_t{1} << (end - first)) - 1;
    for (Index at = first; clear != 0;) {
      const int skip = std::countr_zero(clear), size = std::countr_one(clear >> skip);
      f(Range{at + skip, at + skip + size});
      at += skip + size;
      clear = skip + size < 64 ? clear >> (skip + size) : 0;
    }
    first = end;
  }
}

}  // namespace maskctl
