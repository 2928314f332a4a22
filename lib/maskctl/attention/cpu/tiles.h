// What CPU attention reads of a mask: the tiles of a block of queries, and the rows of partial
// ones.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "maskctl/mask/plane.h"

namespace maskctl::attention {

/// A tile of keys that some query of the block sees.
struct KeyTile {
  Range keys;
  bool full = false;
};

/// The open cells of a block of queries, read once.
class QueryBlock {
 public:
  /// Tiles of key_tile keys; the rows are read only when a tile is partial.
  void read(const Plane& plane, Range queries, Index key_tile);

  const std::vector<KeyTile>& tiles() const { return tiles_; }
  /// Whether the query number `row` of the block sees any key.
  bool sees(Index row) const;
  /// From the first to the last open key of a row inside a partial tile; empty without any.
  Range span(Index row, Range keys) const;
  /// Writes `value` over the closed keys of a row of a partial tile: x[key - keys.begin].
  void close_row(Index row, Range keys, float value, float* x) const;
  /// The same where the row is a column: x[(key - keys.begin) * stride].
  void close_column(Index row, Range keys, float value, float* x, Index stride) const;

 private:
  struct Row {
    Range keys;                      // from the first to the last open one
    std::size_t begin = 0, end = 0;  // of runs_ or words_, if some keys in between are closed
    bool is_words = false;
    bool is_one_run() const { return begin == end; }
  };
  Row row_of(const Keys& keys);
  /// The runs of a row that end past `key`.
  std::span<const Run> runs_from(const Row& row, Index key) const;
  /// f(key range) for each closed range inside `keys`.
  template <class F>
  void for_each_gap(const Row& row, Range keys, F&& f) const;
  void read_rows(const Plane& plane, Range queries);

  std::vector<KeyTile> tiles_;
  std::vector<TileRun> runs_of_tiles_;
  std::vector<Row> rows_;
  std::vector<Run> runs_;
  std::vector<std::uint64_t> words_;
  bool any_full_ = false;
};

}  // namespace maskctl::attention
