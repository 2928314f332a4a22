#include "maskctl/render/page/run_stream.h"

#include <algorithm>
#include <bit>

#include "maskctl/base/index.h"
#include "maskctl/base/work_scope.h"

namespace maskctl {
namespace {

void append_varint(std::string& out, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) out += static_cast<char>(number | 0x80);
  out += static_cast<char>(number);
}

std::uint64_t zigzag(Index number) {
  return static_cast<std::uint64_t>(number) << 1 ^ static_cast<std::uint64_t>(number >> 63);
}

/// Writes the blocks of one list.
class Blocks {
 public:
  void add(Index count, std::span<const Run> runs) {
    edges_.clear();
    for (const Run& run : runs) {
      edges_.push_back(run.begin);
      edges_.push_back(run.end);
    }
    while (count > 0) {
      const bool still = rows_ > 0 && edges_ == last_ && (rows_ == 1 || is_still());
      if (still) {
        slopes_.assign(edges_.size(), 0);
        rows_ += count;
        return;
      }
      if (!extended()) begin();
      --count;
    }
  }

  std::string take() {
    close();
    append_varint(out_, 0);
    return std::move(out_);
  }
  std::size_t size() const { return out_.size(); }

 private:
  bool is_still() const {
    return std::ranges::all_of(slopes_, [](Index slope) { return slope == 0; });
  }

  /// Extends the block by one row if the edges continue it. Returns whether they do.
  bool extended() {
    if (rows_ == 0 || edges_.size() != last_.size()) return false;
    if (rows_ == 1) {
      slopes_.resize(edges_.size());
      for (std::size_t i = 0; i < edges_.size(); ++i) slopes_[i] = edges_[i] - last_[i];
    } else {
      for (std::size_t i = 0; i < edges_.size(); ++i) {
        if (last_[i] + slopes_[i] != edges_[i]) return false;
      }
    }
    last_ = edges_;
    ++rows_;
    return true;
  }

  void begin() {
    close();
    first_ = last_ = edges_;
    rows_ = 1;
  }

  void close() {
    if (rows_ == 0) return;
    append_varint(out_, static_cast<std::uint64_t>(rows_));
    append_varint(out_, first_.size() / 2);
    Index before = 0;
    for (const Index edge : first_) {
      append_varint(out_, static_cast<std::uint64_t>(edge - before));
      before = edge;
    }
    if (rows_ > 1) {
      for (const Index slope : slopes_) append_varint(out_, zigzag(slope));
    }
    rows_ = 0;
  }

  std::string out_;
  std::vector<Index> edges_, first_, last_, slopes_;
  Index rows_ = 0;  // of the open block; 0: there is none
};

/// The runs of a row, without those before and after `keys`, and counted from its begin.
void clip(const Keys& row, Range keys, std::vector<Run>& out) {
  out.clear();
  const auto add = [&](Index begin, Index end) {
    const Range part = intersect({begin, end}, keys);
    if (part.size() <= 0) return;
    const Run run{static_cast<std::int32_t>(part.begin - keys.begin),
                  static_cast<std::int32_t>(part.end - keys.begin)};
    if (!out.empty() && out.back().end == run.begin) {
      out.back().end = run.end;
    } else {
      out.push_back(run);
    }
  };
  for (const Run& run : row.runs) add(run.begin, run.end);
  for (std::size_t i = 0; i < row.words.size(); ++i) {
    const Index base = static_cast<Index>(i) * 64;
    for (std::uint64_t word = row.words[i]; word != 0;) {
      const int from = std::countr_zero(word);
      const int length = std::countr_one(word >> from);
      add(base + from, base + from + length);
      if (from + length == 64) break;
      word &= ~std::uint64_t{0} << (from + length);
    }
  }
}

/// The tiles of a row of the wanted kind, neighbours joined.
void clip(std::span<const TileRun> tiles, Range columns, bool full, std::vector<Run>& out) {
  out.clear();
  for (const TileRun& run : tiles) {
    if (run.fill == Fill::kEmpty || (full && run.fill != Fill::kFull)) continue;
    const Range part = intersect({run.first, Index{run.first} + run.count}, columns);
    if (part.size() <= 0) continue;
    const Run found{static_cast<std::int32_t>(part.begin - columns.begin),
                    static_cast<std::int32_t>(part.end - columns.begin)};
    if (!out.empty() && out.back().end == found.begin) {
      out.back().end = found.end;
    } else {
      out.push_back(found);
    }
  }
}

}  // namespace

RunRows cell_rows(const Plane& plane, Range queries, Range keys) {
  return [&plane, queries, keys](const RunRowSink& sink) {
    std::vector<Run> runs;
    plane.rows(queries, [&](Range rows, const Keys& row) {
      clip(row, keys, runs);
      sink(rows.size(), runs);
    });
  };
}

RunRows tile_rows(const Plane& plane, BlockSize size, Range queries, Range keys, bool full) {
  return [&plane, size, queries, keys, full](const RunRowSink& sink) {
    const Range columns{keys.begin / size.k, ceil_div(keys.end, size.k)};
    std::vector<TileRun> tiles;
    std::vector<Run> runs;
    for (Index q = queries.begin; q < queries.end; q += size.q) {
      throw_if_stopped();
      tiles.clear();
      plane.tiles({q, std::min(q + size.q, queries.end)}, size.k, tiles);
      clip(tiles, columns, full, runs);
      sink(1, runs);
    }
  };
}

RunRows tile_rows(const TileMap& map, Range queries, Range keys, bool full) {
  return [&map, queries, keys, full](const RunRowSink& sink) {
    const Range columns{keys.begin / map.k_tile, ceil_div(keys.end, map.k_tile)};
    std::vector<Run> runs;
    for (Index t = queries.begin / map.q_tile; t < ceil_div(queries.end, map.q_tile); ++t) {
      clip(map.row(t), columns, full, runs);
      sink(1, runs);
    }
  };
}

std::optional<std::size_t> RunStream::add(const RunRows& rows) {
  struct TooLong {};
  Blocks blocks;
  try {
    rows([&](Index count, std::span<const Run> runs) {
      throw_if_stopped();
      blocks.add(count, runs);
      if (bytes_.size() + blocks.size() > max_bytes_) throw TooLong{};
    });
  } catch (const TooLong&) {  // sinks have no other way to end what calls them
    return std::nullopt;
  }
  std::string list = blocks.take();
  if (const auto known = known_.find(list); known != known_.end()) return known->second;
  if (bytes_.size() + list.size() > max_bytes_) return std::nullopt;
  offsets_.push_back(bytes_.size());
  const auto* data = reinterpret_cast<const std::byte*>(list.data());
  bytes_.insert(bytes_.end(), data, data + list.size());
  const std::size_t number = known_.size();
  known_.emplace(std::move(list), number);
  return number;
}

}  // namespace maskctl
