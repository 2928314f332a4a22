#include "maskctl/ejkernel/lazy/tile_content.h"

#include <algorithm>

#include "maskctl/mask/planes/words.h"

namespace maskctl::lazy {
namespace {

/// Writes a TileContent. Each call of add() appends a group of equal rows; a group whose rows equal
/// those of the last group is merged with it.
class ContentWriter {
 public:
  void add(Index rows, std::span<const Run> runs) {
    row_.assign({static_cast<std::int32_t>(runs.size())});
    for (const Run& run : runs) row_.insert(row_.end(), {run.begin, run.end});
    add_row(rows);
  }
  void add(Index rows, std::span<const std::uint64_t> words) {
    row_.assign({-1});
    for (const std::uint64_t word : words) {
      row_.push_back(static_cast<std::int32_t>(word & 0xffffffffU));
      row_.push_back(static_cast<std::int32_t>(word >> 32));
    }
    add_row(rows);
  }
  TileContent take() { return std::move(content_); }

 private:
  void add_row(Index rows) {
    const auto last = content_.begin() + static_cast<std::ptrdiff_t>(group_);
    if (!content_.empty() && std::equal(last + 1, content_.end(), row_.begin(), row_.end())) {
      *last += static_cast<std::int32_t>(rows);
      return;
    }
    group_ = content_.size();
    content_.push_back(static_cast<std::int32_t>(rows));
    content_.insert(content_.end(), row_.begin(), row_.end());
  }

  TileContent content_, row_;
  std::size_t group_ = 0;  // index of the last group
};

/// Copies the bits [bits.begin, bits.begin + 64 * out.size()) of a row to `out`. Bits past the end
/// of the row or of `bits` are 0.
void cut_words(std::span<const std::uint64_t> words, Range bits, std::span<std::uint64_t> out) {
  const auto first = static_cast<std::size_t>(bits.begin / 64);
  const auto shift = static_cast<unsigned>(bits.begin % 64);
  const auto word = [&](std::size_t i) { return i < words.size() ? words[i] : 0; };
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = word(first + i) >> shift;
    if (shift > 0) out[i] |= word(first + i + 1) << (64 - shift);
  }
  if (const auto rest = static_cast<unsigned>(bits.size() % 64); rest > 0) {
    out.back() &= (std::uint64_t{1} << rest) - 1;
  }
}

/// Adds rows of one tile to a ContentWriter, as runs or as bits, whichever takes less space.
class TileRows {
 public:
  explicit TileRows(Index key_tile) : words_(static_cast<std::size_t>(words_for(key_tile))) {}

  void add(ContentWriter& out, Index rows, std::span<const Run> runs) {
    if (runs.size() <= words_.size()) return out.add(rows, runs);
    runs_to_words(runs, words_);
    out.add(rows, std::span<const std::uint64_t>(words_));
  }
  void add(ContentWriter& out, Index rows, std::span<const std::uint64_t> row, Range k) {
    cut_words(row, k, words_);
    if (count_runs(words_) > static_cast<Index>(words_.size())) {
      return out.add(rows, std::span<const std::uint64_t>(words_));
    }
    runs_.clear();
    words_to_runs(words_, runs_);
    out.add(rows, std::span<const Run>(runs_));
  }

 private:
  std::vector<std::uint64_t> words_;
  std::vector<Run> runs_;
};

}  // namespace

std::vector<TileContent> tile_contents(const Plane& plane, Range q, Index key_tile,
                                       std::span<const std::int32_t> columns) {
  std::vector<ContentWriter> writers(columns.size());
  TileRows tile(key_tile);
  std::vector<Run> cut;
  plane.rows(q, [&](Range equal, const Keys& keys) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const Index start = columns[i] * key_tile;
      const Range k{start, start + key_tile};
      if (keys.is_words()) {
        tile.add(writers[i], equal.size(), keys.words, k);
        continue;
      }
      cut.clear();
      clip_runs(keys.runs, k, start, cut);
      tile.add(writers[i], equal.size(), cut);
    }
  });
  std::vector<TileContent> out;
  for (ContentWriter& writer : writers) out.push_back(writer.take());
  return out;
}

}  // namespace maskctl::lazy
