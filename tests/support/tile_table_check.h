// Compares tile tables, in query-major and key-major order, and TileRowReader with a dense array.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "maskctl/mask/blocks/block_map.h"
#include "support/twin.h"

namespace maskctl::twin {

/// True if this cell is open in a payload, which stores the cells of one partial tile.
inline bool is_open(const TilePayloads& pools, PayloadId id, Index row, Index key) {
  if (id >= 0) {
    const Run open = pools.intervals.at(as_size(Index{id} * pools.rows + row));
    return key >= open.begin && key < open.end;
  }
  const Index width = (pools.keys + 63) / 64;
  const Index word = (Index{~id} * pools.rows + row) * width + key / 64;
  return pools.words.at(as_size(word)) >> (key % 64) & 1;
}

/// True if some row of a tile has more than one run of open cells, so that its payload needs bit
/// words.
inline bool needs_words(const std::vector<std::vector<bool>>& tile) {
  for (const std::vector<bool>& row : tile) {
    int runs = 0;
    for (std::size_t k = 0; k < row.size(); ++k) runs += row[k] && (k == 0 || !row[k - 1]);
    if (runs > 1) return true;
  }
  return false;
}

/// Returns what is wrong with the payload of the tile of queries q and keys k; "" if nothing is.
inline std::string check_payload(const TilePayloads& pools, PayloadId id, const Dense& want,
                                 Range q, Range k) {
  std::vector<std::vector<bool>> tile(as_size(pools.rows), std::vector<bool>(as_size(pools.keys)));
  for (Index i = 0; i < pools.rows; ++i) {
    for (Index j = 0; j < pools.keys; ++j) {
      const bool open = i < q.size() && j < k.size() && want.get(q.begin + i, k.begin + j);
      if (is_open(pools, id, i, j) != open) return "a cell of a payload";
      tile[as_size(i)][as_size(j)] = open;
    }
  }
  return (id < 0) == needs_words(tile) ? "" : "the form of a payload";
}

/// Returns how one row of tiles differs from the dense array; "" if it does not.
inline std::string check_tile_row(const TileRow& row, const Dense& want, Range q, Index k_tile) {
  const std::vector<TileRun> expected = tiles(want, q, k_tile);
  if (!std::ranges::equal(row.runs, expected)) return "tiles";
  std::size_t partial = 0;
  for (const TileRun& run : expected) {
    for (Index t = run.first; run.fill == Fill::kPartial && t < run.first + run.count; ++t) {
      if (partial == row.payloads.size()) return "too few payloads";
      const Range k{t * k_tile, std::min((t + 1) * k_tile, want.k)};
      const std::string error = check_payload(*row.pools, row.payloads[partial++], want, q, k);
      if (!error.empty()) return error;
    }
  }
  return partial == row.payloads.size() ? "" : "too many payloads";
}

/// Returns what is wrong with the numbering of payloads; "" if nothing is. Equal tiles share a
/// payload; payloads of each form are numbered 0, 1, ... in order of first use.
inline std::string check_numbers(const TileTable& table) {
  PayloadId intervals = 0, words = 0;
  for (const PayloadId id : table.payloads) {
    PayloadId& next = id >= 0 ? intervals : words;
    const PayloadId number = id >= 0 ? id : ~id;
    if (number > next) return "the order of payloads";
    next += number == next;
  }
  const TilePayloads& pools = table.pools;
  const Index width = pools.rows * ((pools.keys + 63) / 64);
  if (std::ssize(pools.intervals) != intervals * pools.rows) return "unused intervals";
  if (std::ssize(pools.words) != words * width) return "unused words";
  std::set<std::vector<std::int32_t>> distinct;
  for (PayloadId id = 0; id < intervals; ++id) {
    std::vector<std::int32_t> content;
    for (Index i = 0; i < pools.rows; ++i) {
      const Run& run = pools.intervals[as_size(Index{id} * pools.rows + i)];
      content.insert(content.end(), {run.begin, run.end});
    }
    distinct.insert(content);
  }
  std::set<std::vector<std::uint64_t>> distinct_words;
  for (PayloadId id = 0; id < words; ++id) {
    const auto first = pools.words.begin() + Index{id} * width;
    distinct_words.emplace(first, first + width);
  }
  const bool once = std::ssize(distinct) == intervals && std::ssize(distinct_words) == words;
  return once ? "" : "equal payloads";
}

/// Returns how a tile table differs from the dense array; "" if it does not.
inline std::string check_tile_table(const TileTable& table, const Dense& want, Index q_tile,
                                    Index k_tile) {
  const TileMap& map = table.tiles;
  const bool sized = map.queries == want.q && map.keys == want.k && map.q_tile == q_tile &&
                     map.k_tile == k_tile && table.pools.rows == std::min(q_tile, want.q) &&
                     table.pools.keys == std::min(k_tile, want.k);
  if (!sized) return "sizes";
  if (std::ssize(map.row_offsets) != map.tile_rows() + 1) return "row_offsets";
  if (std::ssize(table.partial_offsets) != map.tile_rows() + 1) return "partial_offsets";
  Index full = 0, partial = 0;
  for (Index t = 0; t < map.tile_rows(); ++t) {
    const Range q{t * q_tile, std::min((t + 1) * q_tile, want.q)};
    if (const std::string e = check_tile_row(table.row(t), want, q, k_tile); !e.empty()) return e;
    for (const TileRun& run : tiles(want, q, k_tile)) {
      (run.fill == Fill::kFull ? full : partial) += run.count;
    }
  }
  if (map.full() != full || map.partial() != partial) return "numbers of tiles";
  if (map.empty() != map.tile_rows() * map.tile_columns() - full - partial) return "empty";
  return check_numbers(table);
}

/// Returns how the query-major table, the key-major table or the rows of a TileRowReader differ
/// from the dense array; "" if none does.
inline std::string check_tile_tables(const Plane& plane, const Dense& want, Index q_tile,
                                     Index k_tile) {
  const std::string where = " of blocks " + std::to_string(q_tile) + " x " + std::to_string(k_tile);
  const TileTable table = tile_table(plane, q_tile, k_tile, Index{1} << 30);
  if (const std::string e = check_tile_table(table, want, q_tile, k_tile); !e.empty()) {
    return e + where;
  }
  const TileTable by_keys = key_major(table);
  if (const std::string e = check_tile_table(by_keys, transposed(want), k_tile, q_tile);
      !e.empty()) {
    return "key-major: " + e + where;
  }
  TileRowReader reader(q_tile, k_tile);
  for (Index q = 0; q < want.q; q += q_tile) {
    const Range rows{q, std::min(q + q_tile, want.q)};
    if (const std::string e = check_tile_row(reader.read(plane, rows), want, rows, k_tile);
        !e.empty()) {
      return "reader: " + e + where;
    }
  }
  return "";
}

}  // namespace maskctl::twin
