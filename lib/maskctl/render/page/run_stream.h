// Relations between rows and columns as a short stream of bytes: runs, and how they move from row
// to row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "maskctl/mask/block_size.h"
#include "maskctl/mask/blocks/block_map.h"
#include "maskctl/mask/plane.h"

namespace maskctl {

/// Receives rows in ascending order, from 0 on without gaps: `count` equal ones, and their runs.
using RunRowSink = std::function<void(Index count, std::span<const Run> runs)>;
/// Gives all rows of a relation to a sink.
using RunRows = std::function<void(const RunRowSink&)>;

/// The cells of a part of a plane, whose indices then count from 0.
RunRows cell_rows(const Plane& plane, Range queries, Range keys);
/// The tiles of a part, in whole tiles: those that are not empty, or only those that are full.
RunRows tile_rows(const Plane& plane, BlockSize size, Range queries, Range keys, bool full);
RunRows tile_rows(const TileMap& map, Range queries, Range keys, bool full);

/// Lists of rows, one after another; the page's scripts read them (runs.js).
///
///     list   = blocks, then a 0
///     block  = n >= 1, m, then m times (gap, length): the runs of its first row; gaps count from
///     the
///              end of the run before, the first from 0. If n > 1: 2 m zigzag numbers, by which the
///              begin and the end of each run grow from one of its n rows to the next.
///
/// Numbers are varints of LEB128. A causal mask of any length is one block.
class RunStream {
 public:
  explicit RunStream(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  /// Appends a list and returns its number, or that of an equal list if there is one. Nothing if
  /// the stream would be longer than max_bytes; the stream is then of no use.
  std::optional<std::size_t> add(const RunRows& rows);

  std::span<const std::byte> bytes() const { return bytes_; }
  /// Where each list begins.
  std::span<const std::size_t> offsets() const { return offsets_; }

 private:
  const std::size_t max_bytes_;
  std::vector<std::byte> bytes_;
  std::vector<std::size_t> offsets_;
  std::map<std::string, std::size_t, std::less<>> known_;  // the bytes of each list
};

}  // namespace maskctl
