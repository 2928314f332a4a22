#include "maskctl/mask/planes/tile_sums.h"

#include <algorithm>
#include <utility>

#include "maskctl/mask/planes/words.h"

namespace maskctl {

void TileSums::start(Index rows, Index keys, Index key_tile) {
  rows_ = rows;
  keys_ = keys;
  key_tile_ = std::min(key_tile, std::max<Index>(keys, 1));
  const auto tiles = static_cast<std::size_t>(ceil_div(keys, key_tile_));
  const auto size = static_cast<std::uint64_t>(key_tile_);
  shift_ = std::has_single_bit(size) ? std::countr_zero(size) : -1;
  if (cells_.size() < tiles + 1) {
    cells_.resize(tiles + 1);
    covering_.resize(tiles + 1);
    touched_.resize(tiles / 64 + 1);
  }
  word_rows_ = 0;
}

template <typename TileOf>
void TileSums::add_runs(std::span<const Run> runs, Index rows, TileOf tile_of) {
  Index* const cells = cells_.data();
  Index* const covering = covering_.data();
  // Short neighbouring runs are in the same tile: their sum stays in a register.
  std::size_t open_tile = tile_of(runs.front().begin);
  Index open = 0;
  for (const Run& run : runs) {
    const std::size_t first = tile_of(run.begin);
    const std::size_t last = tile_of(run.end - 1);
    if (first != open_tile) {
      cells[open_tile] += open * rows;
      touch(open_tile);
      open_tile = first;
      open = 0;
    }
    if (first == last) {
      open += run.end - run.begin;
      continue;
    }
    open += start_of(first + 1) - run.begin;
    cells[last] += (run.end - start_of(last)) * rows;
    covering[first + 1] += rows;  // whole tiles between the first and the last
    covering[last] -= rows;
    touch(first);
    touch(first + 1);
    touch(last);
  }
  cells[open_tile] += open * rows;
  touch(open_tile);
}

void TileSums::add_runs(std::span<const Run> runs, Index rows) {
  if (runs.empty()) return;
  if (shift_ >= 0) {
    add_runs(runs, rows, [shift = shift_](std::int32_t key) {
      return static_cast<std::size_t>(static_cast<std::uint32_t>(key) >> shift);
    });
  } else {
    add_runs(runs, rows, [size = static_cast<std::uint32_t>(key_tile_)](std::int32_t key) {
      return static_cast<std::size_t>(static_cast<std::uint32_t>(key) / size);
    });
  }
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
  set_bits(touched_, {0, ceil_div(keys_, key_tile_)});
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
  const Index whole = key_tile_ * rows_;
  const bool by_runs = word_rows_ == 0;
  Index covering = 0, next = 0;
  const auto add = [&](Index tile) {
    // Between tiles that are touched, the runs are those that cover all of them.
    if (covering > 0 && tile > next) {
      const Fill fill = covering == rows_ ? Fill::kFull : Fill::kPartial;
      append_tile(out, row_start, next, tile - next, fill);
    }
    const auto at = static_cast<std::size_t>(tile);
    covering += covering_[at];
    const Index open = cells_[at] + covering * key_tile_;
    cells_[at] = 0;
    covering_[at] = 0;
    next = tile + 1;
    const bool partial = by_runs && open > 0 && open < whole && start_of(at + 1) <= keys_;
    const Fill fill = partial ? Fill::kPartial : fill_of(at, open);
    if (fill != Fill::kEmpty) append_tile(out, row_start, tile, 1, fill);
  };
  for (std::size_t word = 0; word < touched_.size(); ++word) {
    for (std::uint64_t left = std::exchange(touched_[word], 0); left != 0; left &= left - 1) {
      add(static_cast<Index>(word) * 64 + std::countr_zero(left));
    }
  }
}

}  // namespace maskctl
