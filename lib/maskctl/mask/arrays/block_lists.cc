#include "maskctl/mask/arrays/block_lists.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/base/threads.h"
#include "maskctl/mask/blocks/key_major.h"

namespace maskctl {
namespace {

constexpr Index kBlockRowsPerTask = 32;
/// A task writes many bytes, so that two threads seldom touch the same new huge page at once: the
/// kernel would clear a page for each of them.
constexpr Index kBytesPerTask = Index{16} << 20;

/// Returns `map` with the full tiles that the edge of the mask cuts changed to partial.
TileMap with_cut_partial(TileMap map) {
  const bool cut_row = map.queries % map.q_tile != 0, cut_column = map.keys % map.k_tile != 0;
  if (!cut_row && !cut_column) return map;
  TileMap out{map.queries, map.keys, map.q_tile, map.k_tile, {0}, {}};
  out.row_offsets.reserve(map.row_offsets.size());
  out.runs.reserve(map.runs.size() + as_size(map.tile_rows()));
  const auto last_column = static_cast<std::int32_t>(map.tile_columns() - 1);
  for (Index row = 0; row < map.tile_rows(); ++row) {
    const bool cut = cut_row && row + 1 == map.tile_rows();
    for (TileRun run : map.row(row)) {
      if (cut) run.fill = Fill::kPartial;
      const bool ends_cut = cut_column && run.first + run.count > last_column;
      if (!ends_cut || run.fill == Fill::kPartial) {
        out.runs.push_back(run);
        continue;
      }
      if (--run.count > 0) out.runs.push_back(run);
      out.runs.push_back({last_column, 1, Fill::kPartial});
    }
    out.row_offsets.push_back(std::ssize(out.runs));
  }
  return out;
}

Index listed(std::span<const TileRun> runs, Fill fill) {
  Index tiles = 0;
  for (const TileRun& run : runs) tiles += run.fill == fill ? run.count : 0;
  return tiles;
}

/// Writes the numbers first, ..., end - 1. Returns the position after the last one.
std::int32_t* put(std::int32_t* to, std::int32_t first, std::int32_t end) {
  for (; first < end; ++first) *to++ = first;
  return to;
}

std::int32_t* put_listed(std::span<const TileRun> runs, Fill fill, std::int32_t* to) {
  for (const TileRun& run : runs) {
    if (run.fill == fill) to = put(to, run.first, run.first + run.count);
  }
  return to;
}

void put_others(std::span<const TileRun> runs, Fill fill, Index columns, std::int32_t* to) {
  std::int32_t next = 0;
  for (const TileRun& run : runs) {
    if (run.fill != fill) continue;
    to = put(to, next, run.first);
    next = run.first + run.count;
  }
  put(to, next, static_cast<std::int32_t>(columns));
}

/// Calls f(plane, row) for all rows of all planes, on all cores. `row_bytes` is how much f writes
/// for a row, to choose the size of tasks.
template <typename F>
void for_rows(const MaskBlocks& blocks, Index row_bytes, const F& f) {
  const Index each = std::max(kBlockRowsPerTask, kBytesPerTask / std::max<Index>(1, row_bytes));
  const Index rows = blocks.rows(), parts = ceil_div(rows, each);
  parallel_for(blocks.planes() * parts, [&](Index task) {
    const Index plane = task / parts, first = task % parts * each;
    for (Index row = first; row < std::min(first + each, rows); ++row) f(plane, row);
  });
}

Tensor made_within(std::vector<Index> shape, Index max_bytes) {
  const auto elements = checked_product(shape);
  if (!elements || *elements > max_bytes / size_bytes(DType::kInt32)) {
    throw Error(Errc::kLimit,
                fmt::format("the indices {} of int32 exceed the limit of {} bytes",
                            shape_text(shape), max_bytes),
                {{Remedy::kRaiseMemoryLimit}, {Remedy::kSliceMask}});
  }
  return Tensor::unwritten(DType::kInt32, std::move(shape));
}

}  // namespace

MaskBlocks mask_blocks(const Mask& mask, BlockSize size) {
  MaskBlocks out{mask.batch(), mask.heads(), mask.queries(), mask.keys(), size, {}, {}};
  for (const PlanePtr& plane : mask.distinct()) {
    out.distinct.push_back(with_cut_partial(tile_map(*plane, size.q, size.k)));
  }
  for (Index b = 0; b < mask.batch(); ++b) {
    for (Index h = 0; h < mask.heads(); ++h) out.which.push_back(mask.index_of(b, h));
  }
  return out;
}

MaskBlocks key_major(const MaskBlocks& blocks) {
  MaskBlocks out{
      blocks.batch, blocks.heads, blocks.keys, blocks.queries, {blocks.size.k, blocks.size.q},
      {},           blocks.which};
  for (const TileMap& map : blocks.distinct) out.distinct.push_back(key_major(map));
  return out;
}

BlockList block_list(const MaskBlocks& blocks, Fill fill, ListWidth width, Index max_bytes) {
  const Index rows = blocks.rows();
  BlockList out{Tensor::unwritten(DType::kInt32, {blocks.batch, blocks.heads, rows}), {}};
  const auto counts = out.counts.as<std::int32_t>();
  for_rows(blocks, kBytesPerTask / kBlockRowsPerTask, [&](Index plane, Index row) {
    counts[as_size(plane * rows + row)] =
        static_cast<std::int32_t>(listed(blocks.of(plane).row(row), fill));
  });
  const bool all = width == ListWidth::kColumns;
  const std::int32_t longest = counts.empty() ? 0 : *std::ranges::max_element(counts);
  const Index columns = all ? blocks.columns() : std::max<Index>(1, longest);
  out.indices = made_within({blocks.batch, blocks.heads, rows, columns}, max_bytes);
  std::int32_t* const first = out.indices.as<std::int32_t>().data();
  for_rows(blocks, columns * size_bytes(DType::kInt32), [&](Index plane, Index row) {
    const auto runs = blocks.of(plane).row(row);
    std::int32_t* const begin = first + (plane * rows + row) * columns;
    std::int32_t* const end = put_listed(runs, fill, begin);
    if (all) return put_others(runs, fill, columns, end);
    std::fill(end, begin + columns, 0);
  });
  return out;
}

BlockRows block_rows(const MaskBlocks& blocks, Index max_bytes) {
  const Index rows = blocks.rows(), planes = blocks.planes();
  BlockRows out;
  out.indptr = planes == 1 ? Tensor(DType::kInt32, {rows + 1})
                           : Tensor(DType::kInt32, {blocks.batch, blocks.heads, rows + 1});
  const auto indptr = out.indptr.as<std::int32_t>();
  Index end = 0;
  for (Index plane = 0; plane < planes; ++plane) {
    for (Index row = 0; row <= rows; ++row) {
      if (end > std::numeric_limits<std::int32_t>::max()) {
        throw Error(Errc::kLimit, "more blocks than the int32 of indptr can count",
                    {{Remedy::kSliceMask}});
      }
      indptr[as_size(plane * (rows + 1) + row)] = static_cast<std::int32_t>(end);
      if (row == rows) break;
      for (const TileRun& run : blocks.of(plane).row(row)) end += run.count;
    }
  }
  out.indices = made_within({end}, max_bytes);
  std::int32_t* const first = out.indices.as<std::int32_t>().data();
  for_rows(blocks, ceil_div(end, std::max<Index>(1, planes * rows)) * size_bytes(DType::kInt32),
           [&](Index plane, Index row) {
             std::int32_t* to = first + indptr[as_size(plane * (rows + 1) + row)];
             for (const TileRun& run : blocks.of(plane).row(row)) {
               to = put(to, run.first, run.first + run.count);
             }
           });
  return out;
}

}  // namespace maskctl
