// The tiles of a plane and the cells of the partial ones, one tile row at a time: how kernels read
// masks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "maskctl/mask/plane.h"
#include "maskctl/mask/words.h"

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
  /// All other tiles: row-major, words_for(keys) words a row.
  std::vector<std::uint64_t> words;

  Index words_per_row() const { return words_for(keys); }
  std::span<const Run> intervals_of(PayloadId id) const;
  std::span<const std::uint64_t> words_of(PayloadId id) const;
};

/// The cells of one partial tile, borrowed from its pool. Keys are relative to the tile.
class TileCells {
 public:
  TileCells() = default;
  TileCells(const TilePayloads& pools, PayloadId id);

  /// From the first to the last open key of a row; empty without any.
  Range span(Index row) const { return words_ ? span_of_words(row) : span_of_interval(row); }
  /// f(range) for each closed range of a row inside `keys`, ascending.
  template <class F>
  void each_closed(Index row, Range keys, F&& f) const;

 private:
  Range span_of_interval(Index row) const { return {intervals_[row].begin, intervals_[row].end}; }
  Range span_of_words(Index row) const;
  /// The first key in [keys.begin, keys.end) that is open, or closed; keys.end without one.
  Index find(Index row, Range keys, bool open) const;

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
  TileRowReader(Index q_tile, Index k_tile);

  /// The tile row of queries q, at most q_tile of them. Valid until the next call.
  TileRow read(const Plane& plane, Range q);
  /// The same where its tiles are known from Plane::tiles(). `runs` must outlive the result.
  TileRow read(const Plane& plane, Range q, std::span<const TileRun> runs);

 private:
  void start(std::span<const TileRun> runs);
  void put_runs(Range rows, std::span<const Run> runs);
  void put_words(Range rows, std::span<const std::uint64_t> words);
  // The same keys of a partial tile in each of the rows, relative to the tile.
  void put(std::size_t tile, Range rows, Run open);
  void put(std::size_t tile, Range rows, std::span<const std::uint64_t> words);
  /// Makes a tile one of words, given how many of its rows are written.
  void change_to_words(std::size_t tile, Index rows);
  Index start_of(std::size_t tile) const { return columns_[tile] * payloads_.keys; }

  std::vector<TileRun> runs_;
  std::vector<Index> columns_;  // of the partial tiles
  std::vector<PayloadId> ids_;  // of the same: tile i has intervals number i, or words
  TilePayloads payloads_;       // its pools only grow
  PayloadId words_used_ = 0;
  std::vector<std::uint64_t> row_;  // of a tile
};

template <class F>
void TileCells::each_closed(Index row, Range keys, F&& f) const {
  if (words_) {
    for (Index k = find(row, keys, false); k < keys.end;) {
      const Index end = find(row, {k, keys.end}, true);
      f(Range{k, end});
      k = find(row, {end, keys.end}, false);
    }
    return;
  }
  const Range open = intersect(span_of_interval(row), keys);
  if (open.empty()) {
    if (!keys.empty()) f(keys);
    return;
  }
  if (keys.begin < open.begin) f(Range{keys.begin, open.begin});
  if (open.end < keys.end) f(Range{open.end, keys.end});
}

}  // namespace maskctl
