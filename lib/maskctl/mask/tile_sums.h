// Classes of the tiles of one tile row, gathered row by row.
#pragma once

#include <bit>
#include <vector>

#include "maskctl/mask/plane.h"

namespace maskctl {

/// Private to the mask layer. start(), then every row of the tile row once (equal ones in one
/// call), then finish(). Costs O(runs + tiles between the first and the last one touched).
class TileSums {
 public:
  void start(Index rows, Index keys, Index key_tile);
  void add_run(const Run& run, Index rows) {
    const std::size_t first = tile_of(run.begin);
    const std::size_t last = tile_of(run.end - 1);
    touch(first, last);
    if (first == last) {
      cells_[first] += (run.end - run.begin) * rows;
      return;
    }
    cells_[first] += (start_of(first + 1) - run.begin) * rows;
    cells_[last] += (run.end - start_of(last)) * rows;
    covering_[first + 1] += rows;  // whole tiles between both ends
    covering_[last] -= rows;
  }
  void add_words(std::span<const std::uint64_t> words, Index rows);
  /// Appends the non-empty tiles and clears.
  void finish(std::vector<TileRun>& out);

 private:
  std::size_t tile_of(Index key) const {
    return static_cast<std::size_t>(shift_ >= 0 ? key >> shift_ : key / key_tile_);
  }
  Index start_of(std::size_t tile) const { return static_cast<Index>(tile) * key_tile_; }
  void touch(std::size_t first, std::size_t last) {
    if (first < first_) first_ = first;
    if (last > last_) last_ = last;
  }
  Fill fill_of(std::size_t tile, Index open) const;

  Index rows_ = 0, keys_ = 0, key_tile_ = 1;
  int shift_ = -1;
  std::size_t first_ = 0, last_ = 0;
  std::vector<Index> cells_, covering_;
  Index word_rows_ = 0;
  std::vector<std::uint64_t> any_, all_;  // or / and over the rows that came as words
};

/// Appends a tile, joining it to the last run when it continues it.
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
