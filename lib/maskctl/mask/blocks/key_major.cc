// Tile tables with queries and keys exchanged.
#include "maskctl/mask/blocks/key_major.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <unordered_map>

#include "maskctl/base/work_scope.h"
#include "maskctl/mask/blocks/block_map.h"
#include "maskctl/mask/planes/stored_planes.h"
#include "maskctl/mask/planes/words.h"

namespace maskctl {
namespace {

/// Looks up the fill of tiles, which must be asked for in ascending order.
class FillCursor {
 public:
  explicit FillCursor(std::span<const TileRun> runs) : runs_(runs) {}

  struct Piece {
    Fill fill;
    Index end;  // past the last neighbouring tile of this fill
  };
  Piece at(Index tile) {
    while (!runs_.empty() && end_of_first() <= tile) runs_ = runs_.subspan(1);
    if (runs_.empty()) return {Fill::kEmpty, std::numeric_limits<Index>::max()};
    if (runs_.front().first > tile) return {Fill::kEmpty, runs_.front().first};
    return {runs_.front().fill, end_of_first()};
  }

 private:
  Index end_of_first() const { return Index{runs_.front().first} + runs_.front().count; }
  std::span<const TileRun> runs_;
};

/// The runs of tiles of each column, gathered tile row by tile row; only tiles whose fill differs
/// from the one above are touched.
class ColumnRuns {
 public:
  explicit ColumnRuns(Index columns) : first_rows_(as_size(columns)) {}

  void add(Index row, std::span<const TileRun> runs) {
    FillCursor above(above_), now(runs);
    const Index columns = std::ssize(first_rows_);
    for (Index tile = 0; tile < columns;) {
      const FillCursor::Piece was = above.at(tile), is = now.at(tile);
      const Index end = std::min({was.end, is.end, columns});
      if (was.fill != is.fill) change({tile, end}, was.fill, row);
      tile = end;
    }
    above_ = runs;
  }

  /// The runs, and the index at which each column's runs begin; one more at the end.
  void finish(Index rows, std::vector<Index>& offsets, std::vector<TileRun>& runs) {
    add(rows, {});
    offsets.assign(first_rows_.size() + 1, 0);
    for (const Found& found : found_) ++offsets[as_size(found.column) + 1];
    std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
    std::vector<Index> next = offsets;
    runs.resize(found_.size());
    for (const Found& found : found_) runs[as_size(next[as_size(found.column)]++)] = found.run;
  }

 private:
  struct Found {
    Index column;
    TileRun run;
  };
  void change(Range columns, Fill was, Index row) {
    for (Index c = columns.begin; c < columns.end; ++c) {
      std::int32_t& first = first_rows_[as_size(c)];
      const auto now = static_cast<std::int32_t>(row);
      if (was != Fill::kEmpty) found_.push_back({c, {first, now - first, was}});
      first = now;
    }
  }

  std::vector<std::int32_t> first_rows_;  // where each column's current fill began
  std::span<const TileRun> above_;
  std::vector<Found> found_;  // runs of one column ascend
};

/// The payloads of `table` in the order of the transposed table.
std::vector<PayloadId> by_column(const TileTable& table, std::vector<Index> next) {
  std::vector<PayloadId> out(table.payloads.size());
  auto id = table.payloads.begin();
  const StopPoll poll;
  for (const TileRun& run : table.tiles.runs) {
    poll();
    if (run.fill != Fill::kPartial) continue;
    for (Index c = run.first; c < Index{run.first} + run.count; ++c) {
      out[as_size(next[as_size(c)]++)] = *id++;
    }
  }
  return out;
}

PlanePtr plane_of(const TilePayloads& pools, PayloadId id) {
  const Index width = pools.words_per_row();
  WordBuffer words(pools.rows * width);
  if (id < 0) {
    std::ranges::copy(pools.words_of(id), words.words().begin());
  } else {
    Index row = 0;
    for (const Run& run : pools.intervals_of(id)) {
      runs_to_words({&run, as_size(run.end > 0)},
                    words.words().subspan(as_size(row++ * width), as_size(width)));
    }
  }
  return std::make_shared<BitRows>(pools.rows, pools.keys, std::move(words));
}

template <class T>
void append(std::span<const T> values, std::vector<T>& to) {
  to.insert(to.end(), values.begin(), values.end());
}

/// Each payload once, transposed; `ids` become the numbers of the result.
TilePayloads transposed(const TilePayloads& pools, std::vector<PayloadId>& ids) {
  TilePayloads out{pools.keys, pools.rows, {}, {}};
  TileRowReader reader(out.rows, out.keys);
  const TileRun tile{0, 1, Fill::kPartial};
  std::unordered_map<PayloadId, PayloadId> known;
  PayloadId intervals = 0, words = 0;
  const StopPoll poll;
  for (PayloadId& id : ids) {
    poll();
    const auto [entry, is_new] = known.emplace(id, 0);
    if (is_new) {
      const PlanePtr plane = plane_of(pools, id)->transposed();
      const TileRow row = reader.read(*plane, {0, out.rows}, {&tile, 1});
      const PayloadId read = row.payloads.front();
      entry->second = read >= 0 ? intervals++ : ~words++;
      if (read >= 0) append(row.pools->intervals_of(read), out.intervals);
      if (read < 0) append(row.pools->words_of(read), out.words);
    }
    id = entry->second;
  }
  return out;
}

}  // namespace

TileMap key_major(const TileMap& map) {
  TileMap out{map.keys, map.queries, map.k_tile, map.q_tile, {}, {}};
  ColumnRuns columns(map.tile_columns());
  const StopPoll poll;
  for (Index t = 0; t < map.tile_rows(); ++t) {
    poll();
    columns.add(t, map.row(t));
  }
  columns.finish(map.tile_rows(), out.row_offsets, out.runs);
  return out;
}

TileTable key_major(const TileTable& table) {
  TileTable out;
  out.tiles = key_major(table.tiles);
  out.partial_offsets = partial_offsets(out.tiles);
  out.payloads = by_column(table, out.partial_offsets);
  out.pools = transposed(table.pools, out.payloads);
  return out;
}

}  // namespace maskctl
