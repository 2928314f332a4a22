#include "maskctl/mask/equal/column_sums.h"

#include <algorithm>
#include <functional>

#include "maskctl/mask/planes/bit_tiles.h"
#include "maskctl/mask/planes/words.h"

namespace maskctl {
namespace {

constexpr Index kRows = static_cast<Index>(kTileRows);
constexpr Index kWords = static_cast<Index>(kTileWords);

/// The sum of the random weights of these rows.
std::uint64_t weight(Range rows) {
  std::uint64_t sum = 0;
  for (Index part = rows.begin / 32; part * 32 < rows.end; ++part) {
    const Range inside = intersect(rows, {part * 32, part * 32 + 32});
    const std::uint64_t ones = (std::uint64_t{1} << (inside.end - part * 32)) -
                               (std::uint64_t{1} << (inside.begin - part * 32));
    sum += ones * row_factor(part);
  }
  return sum;
}

}  // namespace

std::uint32_t row_factor(Index rows32) {
  return static_cast<std::uint32_t>(
      scrambled(static_cast<std::uint64_t>(rows32) + 0x9e3779b97f4a7c15ULL) >> 32);
}

RowBlock64::RowBlock64(Index keys)
    : width_(words_for(keys)),
      groups_(ceil_div(width_, kWords)),
      // One more group than needed, so that the rows of a tile do not compete for the same cache
      // sets.
      stride_((groups_ + 1) * kWords),
      words_(as_size(kRows * stride_)) {}

void RowBlock64::set(Index r, const Keys& keys) {
  const auto to = std::span(words_).subspan(as_size(r * stride_), as_size(width_));
  if (keys.is_words()) {
    std::ranges::copy(keys.words, to.begin());
  } else {
    runs_to_words(keys.runs, to);
  }
  empty_ = false;
}

void RowBlock64::clear() {
  if (!empty_) std::ranges::fill(words_, 0);
  empty_ = true;
}

void RowBlock64::columns(Index g, std::uint64_t* out) const {
  transpose_tiles(words_.data() + g * kWords, as_size(stride_), out);
}

ColumnSums::ColumnSums(Index keys) : keys_(keys) {}

void ColumnSums::add(Range rows, const Keys& keys) {
  if (keys.is_words()) return add_words(rows, keys);
  if (toggles_.empty()) toggles_.resize(as_size(keys_ + 1));
  const std::uint64_t sum = weight(rows);
  for (const Run& run : keys.runs) {
    Toggle& begin = toggles_[as_size(run.begin)];
    Toggle& end = toggles_[as_size(run.end)];
    begin.sum += sum;
    begin.runs += 1;
    begin.edges = 1;
    end.sum -= sum;
    end.runs -= 1;
    end.edges = 1;
  }
}

void ColumnSums::add_words(Range rows, const Keys& keys) {
  if (block_.empty()) {
    block_.emplace_back(keys_);
    sums_.resize(as_size(block_.front().groups()) * kTileSpan);
    open_.resize(keys.words.size());
  }
  combine_words(Op::kOr, open_, keys.words, open_);
  for (Index row = rows.begin; row < rows.end; ++row) {
    if (row / kRows != block_number_) flush();
    block_number_ = row / kRows;
    block_.front().set(row % kRows, keys);
  }
}

void ColumnSums::flush() {
  if (block_.empty() || block_.front().empty()) return;
  const std::uint32_t low = row_factor(2 * block_number_);
  const std::uint32_t high = row_factor(2 * block_number_ + 1);
  alignas(64) std::uint64_t columns[kTileSpan];
  for (Index g = 0; g < block_.front().groups(); ++g) {
    block_.front().columns(g, columns);
    add_products(columns, low, high, sums_.data() + as_size(g) * kTileSpan);
  }
  block_.front().clear();
}

void ColumnSums::add(ColumnSums& other) {
  other.flush();
  if (toggles_.empty()) toggles_.swap(other.toggles_);
  for (std::size_t i = 0; i < other.toggles_.size(); ++i) {
    toggles_[i].sum += other.toggles_[i].sum;
    toggles_[i].runs += other.toggles_[i].runs;
    toggles_[i].edges |= other.toggles_[i].edges;
  }
  if (!other.any_words()) return;
  if (!any_words()) {
    sums_.swap(other.sums_);
    open_.swap(other.open_);
    return;
  }
  std::ranges::transform(sums_, other.sums_, sums_.begin(), std::plus<>());
  combine_words(Op::kOr, open_, other.open_, open_);
}

std::vector<ColumnSums::Column> ColumnSums::columns() {
  flush();
  toggles_.resize(as_size(keys_ + 1));
  std::vector<Column> out(as_size(keys_));
  std::uint64_t sum = 0;
  Index runs = 0;
  for (std::size_t k = 0; k < out.size(); ++k) {
    sum += toggles_[k].sum;
    runs += toggles_[k].runs;
    out[k] = {sum, runs > 0, toggles_[k].edges != 0};
    if (!any_words()) continue;
    out[k].hash += sums_[k / (kTileWords * 64) * kTileSpan + tile_slot(k)];
    out[k].open |= (open_[k / 64] >> (k % 64) & 1) != 0;
  }
  return out;
}

}  // namespace maskctl
