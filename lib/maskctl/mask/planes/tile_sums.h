// Finds out which tiles of a tile row are full, partial or empty, row by row.
#pragma once

#include <bit>
#include <vector>

#include "maskctl/mask/plane.h"

namespace maskctl {

/// Finds which tiles of one tile row are full, partial or empty: call start(), add each row of the
/// tile row once (equal rows in one call), then finish(). Costs O(runs + tiles where some run
/// begins or ends + tiles / 64).
class TileSums {
 public:
  void start(Index rows, Index keys, Index key_tile);
  void add_runs(std::span<const Run> runs, Index rows);
  void add_words(std::span<const std::uint64_t> words, Index rows);
  /// Appends the non-empty tiles of the rows that were added, and resets the sums.
  void finish(std::vector<TileRun>& out);

 private:
  template <typename TileOf>
  void add_runs(std::span<const Run> runs, Index rows, TileOf tile_of);
  Index start_of(std::size_t tile) const { return static_cast<Index>(tile) * key_tile_; }
  Fill fill_of(std::size_t tile, Index open) const;
  void touch(std::size_t tile) { touched_[tile / 64] |= std::uint64_t{1} << (tile % 64); }

  Index rows_ = 0, keys_ = 0, key_tile_ = 1;
  int shift_ = -1;
  std::vector<Index> cells_, covering_;
  // A bit for each tile in which a run begins or ends, or begins to cover tiles.
  std::vector<std::uint64_t> touched_;
  Index word_rows_ = 0;
  std::vector<std::uint64_t> any_, all_;  // OR and AND of all rows given as words
};

/// Appends `count` tiles of the same fill; extends the last run of tiles if they continue it.
inline void append_tile(std::vector<TileRun>& out, std::size_t row_start, Index tile, Index count,
                        Fill fill) {
  if (out.size() > row_start && out.back().fill == fill &&
      out.back().first + out.back().count == tile) {
    out.back().count += static_cast<std::int32_t>(count);
    return;
  }
  out.push_back({static_cast<std::int32_t>(tile), static_cast<std::int32_t>(count), fill});
}

}  // namespace maskctl
