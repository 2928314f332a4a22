#include "app/tui/beside/loading_mask.h"

#include <algorithm>
#include <numeric>

#include "maskctl/mask/planes/words.h"

namespace maskctl::app::tui {
namespace {

constexpr Index kLeastBlock = 64, kMostBlocks = 512;

Index block_for(Index extent) {
  Index block = kLeastBlock;
  while (ceil_div(extent, block) > kMostBlocks) block *= 2;
  return block;
}

}  // namespace

void LoadingMask::add(const RowsRead& rows) {
  const std::lock_guard lock(mutex_);
  const Index queries = rows.shape[2], keys = rows.shape[3];
  if (shape_.empty()) {
    shape_.assign(rows.shape.begin(), rows.shape.end());
    block_ = {block_for(queries), block_for(keys)};
    columns_ = ceil_div(keys, block_.k);
    known_.assign(as_size(ceil_div(queries, block_.q)), 0);
    open_.assign(known_.size() * as_size(columns_), 0);
  }
  const Index width = words_for(keys), block_words = block_.k / 64;
  for (Index q = rows.queries.begin; q < rows.queries.end; ++q) {
    const auto words =
        rows.words.subspan(as_size((q - rows.queries.begin) * width), as_size(width));
    const auto open = std::span(open_).subspan(as_size(q / block_.q * columns_), as_size(columns_));
    for (std::size_t i = 0; i < open.size(); ++i) {
      const std::size_t first = i * as_size(block_words);
      open[i] +=
          popcount(words.subspan(first, std::min(as_size(block_words), words.size() - first)));
    }
    ++known_[as_size(q / block_.q)];
  }
}

std::vector<Index> LoadingMask::shape() const {
  const std::lock_guard lock(mutex_);
  return shape_;
}

bool LoadingMask::is_known(const InkGrid& grid, Index row) const {
  if (shape_.empty() || grid.q_step % block_.q != 0 || grid.k_step % block_.k != 0) return false;
  const Range queries = grid.queries(row);
  const auto first = known_.begin() + queries.begin / block_.q;
  const auto last = known_.begin() + ceil_div(queries.end, block_.q);
  return std::accumulate(first, last, Index{0}) == queries.size();
}

Index LoadingMask::open_in(Range queries, Range keys) const {
  Index out = 0;
  for (Index row = queries.begin / block_.q; row * block_.q < queries.end; ++row) {
    const auto first = open_.begin() + row * columns_ + keys.begin / block_.k;
    out = std::accumulate(first, first + ceil_div(keys.size(), block_.k), out);
  }
  return out;
}

InkGrid LoadingMask::grid(const GridShape& shape) const {
  const std::lock_guard lock(mutex_);
  InkGrid out;
  static_cast<GridShape&>(out) = shape;
  out.blocks = true;
  out.inks.assign(as_size(out.rows * out.columns), ink::kNone);
  out.open.assign(out.inks.size(), 0);
  out.unknown.assign(as_size(out.rows), true);
  for (Index row = 0; row < out.rows; ++row) {
    if (!is_known(out, row)) continue;
    out.unknown[as_size(row)] = false;
    for (Index column = 0; column < out.columns; ++column) {
      const Index open = open_in(out.queries(row), out.keys(column));
      out.open[out.index(row, column)] = open;
      out.inks[out.index(row, column)] = density_ink(open, out.area(row, column));
    }
  }
  return out;
}

}  // namespace maskctl::app::tui
