#include "maskctl/mask/lazy/tile_content.h"

#include <algorithm>

#include "maskctl/mask/words.h"

namespace maskctl::lazy {
namespace {

/// Appends groups of rows, joining equal neighbours.
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
  std::size_t group_ = 0;  // where the last group starts
};

/// Bits [begin, begin + 64 * out.size()) of a row; bits past its words are zero.
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

/// The rows of one tile, written in whichever form is smaller.
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

/// An edge of a band on some rows of a tile: value + slope * row of the tile; a constant, clipped
/// to the tile, if that means the same.
struct Edge {
  Index value, slope;
};
Edge relative_edge(Index value, bool slope, Range rows, Index width) {
  const Index first = value + (slope ? rows.begin : 0), last = value + (slope ? rows.end - 1 : 0);
  if (last <= 0) return {0, 0};
  if (first >= width) return {width, 0};
  if (rows.size() == 1) return {first, 0};
  return {value, slope ? 1 : 0};
}

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

void band_key(const BandsPlane& plane, Range q, Range k, BandKey& key) {
  key.clear();
  const auto& slabs = plane.slabs();
  auto slab = std::partition_point(slabs.begin(), slabs.end(),
                                   [&](const Slab& s) { return s.q.end <= q.begin; });
  std::size_t group = 0;  // where the last slab starts
  std::vector<std::int32_t> lines;
  for (; slab != slabs.end() && slab->q.begin < q.end; ++slab) {
    const Range rows = intersect(slab->q, q);
    const Range local{rows.begin - q.begin, rows.end - q.begin};
    lines.clear();
    // Bands ascend on every row, so those left of the tile come first.
    auto band = std::partition_point(slab->bands.begin(), slab->bands.end(), [&](const Band& b) {
      return b.end_at(rows.end - 1) <= k.begin;
    });
    for (; band != slab->bands.end() && band->begin_at(rows.begin) < k.end; ++band) {
      const Edge begin =
          relative_edge(band->begin_at(q.begin) - k.begin, band->begin_slope != 0, local, k.size());
      const Edge end =
          relative_edge(band->end_at(q.begin) - k.begin, band->end_slope != 0, local, k.size());
      for (const Index v : {begin.value, begin.slope, end.value, end.slope}) {
        lines.push_back(static_cast<std::int32_t>(v));
      }
    }
    if (lines.empty()) continue;
    const auto last = key.begin() + static_cast<std::ptrdiff_t>(group);
    if (!key.empty() && last[1] == local.begin &&
        std::equal(last + 3, key.end(), lines.begin(), lines.end())) {
      last[1] = static_cast<std::int32_t>(local.end);
      continue;
    }
    group = key.size();
    key.insert(key.end(),
               {static_cast<std::int32_t>(local.begin), static_cast<std::int32_t>(local.end),
                static_cast<std::int32_t>(lines.size())});
    key.insert(key.end(), lines.begin(), lines.end());
  }
}

std::uint64_t hash_of_values(std::span<const std::int32_t> values) {
  std::uint64_t h = values.size();
  for (const std::int32_t v : values) {
    h = (h ^ static_cast<std::uint32_t>(v)) * 0x9e3779b97f4a7c15U;
    h ^= h >> 32;
  }
  return h;
}

}  // namespace maskctl::lazy
