// The tiles of a plane and the cells of the partial ones, one tile row at a time: how kernels read
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

/// Which payload a partial tile has: number n of the intervals where n >= 0, else ~n of the words.
using PayloadId = std::int32_t;

/// The cells of partial tiles of `rows` queries x `keys` keys, in two pools that a device can copy
/// as they are. Tiles at the edge of the plane are filled up with closed cells. Two payloads of one
/// size are equal exactly when their tiles hold the same cells.
struct TilePayloads {
  Index rows = 0, keys = 0;
  /// Tiles that every row enters and leaves at most once: keys [begin, end) of each row, relative
  /// to the tile; {0, 0} for none.
  std::vector<Run> intervals;
  /// All other tiles: row-major, words_per_row() words a row; key k is bit k % 64 of word k / 64.
  std::vector<std::uint64_t> words;

  Index words_per_row() const { return ceil_div(keys, 64); }
  std::span<const Run> intervals_of(PayloadId id) const;
  std::span<const std::uint64_t> words_of(PayloadId id) const;
};

/// The cells of one partial tile, borrowed from its pool. Keys are relative to the tile.
class TileCells {
 public:
  TileCells() = default;
  TileCells(const TilePayloads& pools, PayloadId id);

  /// From the first to the last open key of a row; empty without any.
  Range span(Index row) const { return is_words() ? span_of_words(row) : span_of_interval(row); }
  /// Calls f(range) for ascending ranges that together are the closed keys of a row inside `keys`.
  template <class F>
  void each_closed(Index row, Range keys, F&& f) const;
  bool is_words() const { return words_ != nullptr; }
  /// The words of a row, where is_words().
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

/// One tile row: its non-empty tiles and, in the same order, the payloads of the partial ones.
struct TileRow {
  std::span<const TileRun> runs;
  std::span<const PayloadId> payloads;
  const TilePayloads* pools = nullptr;
};

/// Reads tile rows of any plane into memory that is reused from row to row.
class TileRowReader {
 public:
  /// Sizes of 1 to 2^31 - 1.
  TileRowReader(Index q_tile, Index k_tile);

  /// The tile row of queries q, at most q_tile of them. Valid until the next call.
  TileRow read(const Plane& plane, Range q);
  /// read() when the tiles are known from Plane::tiles(). `runs` must outlive the result.
  TileRow read(const Plane& plane, Range q, std::span<const TileRun> runs);

 private:
  void start(std::span<const TileRun> runs);
  /// Bands are written from their lines, without a call for each row.
  void put_slabs(std::span<const Slab> slabs, Range q);
  void put_bands(std::span<const Band> bands, Range q, Index first_row);
  void put_band(const Band& band, Range q, Index first_row);
  void put_run(Range rows, Run run);
  void put_runs(Range rows, std::span<const Run> runs);
  void put_words(Range rows, std::span<const std::uint64_t> words);
  // Opens the keys `open` in each of these rows of a partial tile; both are relative to the tile.
  void put(std::size_t tile, Range rows, Run open);
  void put_into_words(std::size_t tile, Range rows, Run open);
  void put(std::size_t tile, Range rows, std::span<const std::uint64_t> words);
  /// Makes a tile one of words, given how many of its rows are written.
  void change_to_words(std::size_t tile, Index rows);
  bool is_words(std::size_t tile) const { return ids_[tile] < 0; }

  std::vector<TileRun> runs_;
  std::vector<std::int32_t> starts_;  // the first keys of the partial tiles
  std::vector<PayloadId> ids_;        // payload of each: tile i has intervals number i, or words
  TilePayloads payloads_;             // its pools only grow
  PayloadId words_used_ = 0;
  std::vector<std::uint64_t> row_;  // one row of a tile
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

/// Ranges end where a word ends.
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
