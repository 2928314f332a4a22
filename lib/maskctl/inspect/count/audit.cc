#include "maskctl/inspect/count/audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "maskctl/base/error.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

/// The block map as [B or 1, H or 1, Qb, Kb].
struct Map {
  Index batch = 1, heads = 1, rows = 0, columns = 0;
  std::vector<std::int32_t> values;

  std::span<const std::int32_t> row(Index b, Index h, Index i) const {
    const Index plane = (batch == 1 ? 0 : b) * heads + (heads == 1 ? 0 : h);
    return std::span(values).subspan(static_cast<std::size_t>((plane * rows + i) * columns),
                                     static_cast<std::size_t>(columns));
  }
};

Map read_map(const Mask& mask, const Tensor& array, BlockSize size) {
  Map map;
  const Index rank = array.rank();
  const Index rows = ceil_div(mask.queries(), size.q), columns = ceil_div(mask.keys(), size.k);
  bool fits = rank >= 2 && rank <= 4;
  if (fits) {
    map.batch = rank >= 3 ? array.extent(0) : 1;
    map.heads = rank == 4 ? array.extent(1) : 1;
    map.rows = array.extent(rank - 2);
    map.columns = array.extent(rank - 1);
    fits = map.rows == rows && map.columns == columns &&
           (map.batch == 1 || map.batch == mask.batch()) &&
           (map.heads == 1 || map.heads == mask.heads());
  }
  if (!fits) {
    throw Error(Errc::kShape, fmt::format("a map of shape {} for {}: blocks of {}x{} need ({}, {})",
                                          shape_text(array.shape()), shape_text(mask), size.q,
                                          size.k, rows, columns));
  }
  map.values =
      as_int32(array.dtype() == DType::kBool ? astype(array, DType::kInt32) : array, "block map");
  for (const std::int32_t value : map.values) {
    if (value >= 0 && value <= 2) continue;
    throw Error(Errc::kInvalidArgument,
                fmt::format("block map: a value of {}; expected 0 (left out), 1 (computed under "
                            "the mask) or 2 (computed without it)",
                            value));
  }
  return map;
}

class Auditor {
 public:
  Auditor(const Mask& mask, Map map, BlockSize size)
      : mask_(mask),
        map_(std::move(map)),
        size_(size),
        edges_(static_cast<std::size_t>(map_.columns) + 1) {
    for (Index i = 0; i <= map_.columns; ++i) {
      edges_[static_cast<std::size_t>(i)] = std::min(i * size.k, mask.keys());
    }
    out_.size = size;
  }

  BlockAudit run() {
    for (Index b = 0; b < mask_.batch(); ++b) {
      for (Index h = 0; h < mask_.heads(); ++h) {
        for (Index row = 0; row < map_.rows; ++row) block_row(b, h, row);
      }
    }
    return out_;
  }

 private:
  void block_row(Index b, Index h, Index row);
  void count_rows(const Plane& plane, Range q, std::span<const std::int32_t> kinds);
  /// The first open (or closed) cell of the block of queries q and keys k.
  Cell first_in(const Plane& plane, Index b, Index h, Range q, Range k, bool open) const;

  const Mask& mask_;
  Map map_;
  BlockSize size_;
  std::vector<Index> edges_;
  BlockAudit out_;
};

Cell Auditor::first_in(const Plane& plane, Index b, Index h, Range q, Range k, bool open) const {
  for (Index i = q.begin; i < q.end; ++i) {
    const Index seen = plane.count({i, i + 1}, k);
    if (open ? seen == 0 : seen == k.size()) continue;
    for (Index j = k.begin; j < k.end; ++j) {
      if ((plane.count({i, i + 1}, {j, j + 1}) > 0) == open) return {b, h, i, j};
    }
  }
  return {b, h, q.begin, k.begin};
}

void Auditor::block_row(Index b, Index h, Index row) {
  const Plane& plane = *mask_.plane(b, h);
  const Range q{row * size_.q, std::min((row + 1) * size_.q, mask_.queries())};
  const auto kinds = map_.row(b, h, row);
  std::vector<Index> open(kinds.size());
  plane.counts(q, edges_, open);
  bool drops = false;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const Range k{edges_[i], edges_[i + 1]};
    ++out_.blocks;
    out_.open += open[i];
    out_.kept += kinds[i] != 0;
    out_.wasted += kinds[i] != 0 && open[i] == 0;
    if (kinds[i] == 0 && open[i] > 0) {
      drops = true;
      out_.dropped += open[i];
      ++out_.dropped_blocks;
      if (!out_.first_dropped) out_.first_dropped = first_in(plane, b, h, q, k, true);
    }
    const Index closed = q.size() * k.size() - open[i];
    if (kinds[i] == 2 && closed > 0) {
      ++out_.wrong_full;
      out_.leaked += closed;
      if (!out_.first_leaked) out_.first_leaked = first_in(plane, b, h, q, k, false);
    }
  }
  if (!kinds.empty() && kinds[0] == 0) out_.first_key_rows += plane.count(q, {0, 1});
  if (drops) count_rows(plane, q, kinds);
}

/// Counts the queries of a block row that see a key in a block that the map leaves out.
void Auditor::count_rows(const Plane& plane, Range q, std::span<const std::int32_t> kinds) {
  std::vector<Index> open(kinds.size());
  for (Index i = q.begin; i < q.end; ++i) {
    std::fill(open.begin(), open.end(), 0);
    plane.counts({i, i + 1}, edges_, open);
    bool loses = false;
    for (std::size_t k = 0; k < kinds.size(); ++k) loses |= kinds[k] == 0 && open[k] > 0;
    out_.dropped_rows += loses;
  }
}

}  // namespace

BlockAudit audit_blocks(const Mask& mask, const Tensor& map, BlockSize size) {
  if (size.q < 1 || size.k < 1) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("blocks of {}x{}: expected at least 1", size.q, size.k));
  }
  return Auditor(mask, read_map(mask, map, size), size).run();
}

}  // namespace maskctl
