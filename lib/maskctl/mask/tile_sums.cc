#include "maskctl/mask/tile_sums.h"

#include <algorithm>

#include "maskctl/mask/words.h"

namespace maskctl {

void TileSums::start(Index rows, Index keys, Index key_tile) {
  const auto tiles = static_cast<std::size_t>(ceil_div(keys, key_tile));
  rows_ = rows;
  keys_ = keys;
  key_tile_ = key_tile;
  const auto size = static_cast<std::uint64_t>(key_tile);
  shift_ = std::has_single_bit(size) ? std::countr_zero(size) : -1;
  if (cells_.size() < tiles + 1) {
    cells_.resize(tiles + 1);
    covering_.resize(tiles + 1);
  }
  first_ = tiles;
  last_ = 0;
  word_rows_ = 0;
}

void TileSums::add_words(std::span<const std::uint64_t> words, Index rows) {
  if (word_rows_ == 0) {
    any_.assign(words.begin(), words.end());
    all_ = any_;
  } else {
    combine_words(Op::kOr, any_, words, any_);
    combine_words(Op::kAnd, all_, words, all_);
  }
  word_rows_ += rows;
  first_ = 0;
  last_ = tile_of(keys_ - 1);
}

Fill TileSums::fill_of(std::size_t tile, Index open) const {
  const Range keys{start_of(tile), std::min(start_of(tile + 1), keys_)};
  const bool runs_full = open == keys.size() * (rows_ - word_rows_);
  if (word_rows_ == 0) {
    if (open == 0) return Fill::kEmpty;
    return runs_full ? Fill::kFull : Fill::kPartial;
  }
  if (open == 0 && popcount(any_, keys) == 0) return Fill::kEmpty;
  return runs_full && popcount(all_, keys) == keys.size() ? Fill::kFull : Fill::kPartial;
}

void TileSums::finish(std::vector<TileRun>& out) {
  const std::size_t row_start = out.size();
  Index covering = 0;
  for (std::size_t tile = first_; tile <= last_ && tile < cells_.size(); ++tile) {
    covering += covering_[tile];
    const Fill fill = fill_of(tile, cells_[tile] + covering * key_tile_);
    if (fill != Fill::kEmpty) append_tile(out, row_start, static_cast<Index>(tile), 1, fill);
    cells_[tile] = 0;
    covering_[tile] = 0;
  }
}

}  // namespace maskctl
