// Transposes tile maps and tile tables: queries and keys are exchanged.
#include "maskctl/mask/blocks/key_major.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <unordered_map>

#include "maskctl/base/threads.h"
#include "maskctl/base/work_scope.h"
#include "maskctl/mask/blocks/block_map.h"
#include "maskctl/mask/planes/stored_planes.h"
#include "maskctl/mask/planes/words.h"

namespace maskctl {
namespace {

constexpr Index kFewestColumns = 256;  // how many tile columns a task has at least

/// Finds the fill of tiles of one tile row; tiles must be asked for in ascending order.
class FillCursor {
 public:
  FillCursor(std::span<const TileRun> runs, Index first)
      : runs_(std::ranges::partition_point(
                  runs,
                  [first](const TileRun& run) { return Index{run.first} + run.count <= first; }),
              runs.end()) {}

  struct Piece {
    Fill fill;
    Index end;  // the first tile after this one that may have another fill
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

/// Collects the runs of tiles of some columns from top to bottom, one tile row at a time; each row
/// touches only the tiles whose fill differs from the tile above.
class ColumnRuns {
 public:
  explicit ColumnRuns(Range columns) : columns_(columns), first_rows_(as_size(columns.size())) {}

  void add(Index row, std::span<const TileRun> runs) {
    FillCursor above(above_, columns_.begin), now(runs, columns_.begin);
    for (Index tile = columns_.begin; tile < columns_.end;) {
      const FillCursor::Piece was = above.at(tile), is = now.at(tile);
      const Index end = std::min({was.end, is.end, columns_.end});
      if (was.fill != is.fill) change({tile, end}, was.fill, row);
      tile = end;
    }
    above_ = runs;
  }

  /// The runs of tiles that were found, sorted by tile column; ends[c] is the number of runs up to
  /// and including column c.
  struct Sorted {
    std::vector<Index> ends;
    std::vector<TileRun> runs;
  };
  Sorted finish(Index rows) {
    add(rows, {});
    Sorted out;
    std::vector<Index> next(first_rows_.size() + 1);
    for (const Found& found : found_) ++next[as_size(found.column) + 1];
    std::partial_sum(next.begin(), next.end(), next.begin());
    out.ends.assign(next.begin() + 1, next.end());
    out.runs.resize(found_.size());
    for (const Found& found : found_) out.runs[as_size(next[as_size(found.column)]++)] = found.run;
    return out;
  }

 private:
  struct Found {
    Index column;  // counted from columns_.begin
    TileRun run;
  };
  void change(Range columns, Fill was, Index row) {
    for (Index c = columns.begin - columns_.begin; c < columns.end - columns_.begin; ++c) {
      std::int32_t& first = first_rows_[as_size(c)];
      const auto now = static_cast<std::int32_t>(row);
      if (was != Fill::kEmpty) found_.push_back({c, {first, now - first, was}});
      first = now;
    }
  }

  Range columns_;
  std::vector<std::int32_t> first_rows_;  // for each column, the row where its current run began
  std::span<const TileRun> above_;
  std::vector<Found> found_;  // the runs of each column are in ascending order
};

/// Returns the payload numbers of `table` in the order of the transposed table, one tile column
/// after another. next[c] is the position in the result at which column c starts.
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

/// Transposes the payloads (the cells of partial tiles), each distinct one once. Replaces `ids` by
/// the numbers of the transposed payloads.
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
  const Index columns = map.tile_columns(),
              each = std::max(kFewestColumns, ceil_div(columns, threads()));
  std::vector<ColumnRuns::Sorted> parts(as_size(ceil_div(columns, each)));
  parallel_for(std::ssize(parts), [&](Index part) {
    ColumnRuns some({part * each, std::min((part + 1) * each, columns)});
    const StopPoll poll;
    for (Index t = 0; t < map.tile_rows(); ++t) {
      poll();
      some.add(t, map.row(t));
    }
    parts[as_size(part)] = some.finish(map.tile_rows());
  });
  TileMap out{map.keys, map.queries, map.k_tile, map.q_tile, {0}, {}};
  for (const ColumnRuns::Sorted& part : parts) {
    const Index before = std::ssize(out.runs);
    for (const Index end : part.ends) out.row_offsets.push_back(before + end);
    out.runs.insert(out.runs.end(), part.runs.begin(), part.runs.end());
  }
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
