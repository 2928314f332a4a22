// Reads lists of blocks from arrays; errors name the row that is wrong.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/base/work_scope.h"
#include "maskctl/mask/arrays/block_lists.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

/// Which row of which list is being read, for messages.
struct Row {
  std::string_view name;
  Index plane, heads, row;
};

[[noreturn]] void refuse(const Row& row, const std::string& what) {
  throw Error(Errc::kFormat,
              fmt::format("{}: batch {}, head {}, row {}: {}", row.name, row.plane / row.heads,
                          row.plane % row.heads, row.row, what));
}

/// Writes `value` into `blocks` for each block that the row lists, and checks the list.
void mark(const Row& row, std::span<const std::int32_t> listed, std::uint8_t value,
          std::span<std::uint8_t> blocks) {
  std::int32_t last = -1;
  for (const std::int32_t block : listed) {
    if (block < 0 || block >= std::ssize(blocks)) {
      refuse(row, fmt::format("block {} is out of range; expected 0 to {}", block,
                              std::ssize(blocks) - 1));
    }
    if (block == last) refuse(row, fmt::format("block {} is listed twice", block));
    if (block < last) {
      refuse(row, fmt::format("block {} comes after {}; expected ascending blocks", block, last));
    }
    std::uint8_t& known = blocks[as_size(block)];
    if (known != 0)
      refuse(row, fmt::format("block {} is in the list of partial blocks too", block));
    known = value;
    last = block;
  }
}

Tensor empty_map(Index batch, Index heads, Index rows, Index columns, Index max_bytes) {
  std::vector<Index> shape{batch, heads, rows, columns};
  const auto elements = checked_product(shape);
  if (!elements || *elements > max_bytes) {
    throw Error(Errc::kLimit,
                fmt::format("a map of blocks {} exceeds the limit of {} bytes", shape_text(shape),
                            max_bytes),
                {{Remedy::kRaiseMemoryLimit}});
  }
  return {DType::kUInt8, std::move(shape)};
}

/// The shape [B,H,R] of counts given as [R] or [B,H,R].
std::vector<Index> rows_shape(std::string_view name, const Tensor& counts) {
  if (counts.rank() == 3) return counts.shape();
  if (counts.rank() == 1) return {1, 1, counts.extent(0)};
  throw Error(Errc::kShape, fmt::format("{} has the shape {}; expected (B, H, rows)", name,
                                        shape_text(counts.shape())));
}

void check_shapes(const NamedBlockList& list, const NamedBlockList& first) {
  std::vector<Index> expected = list.counts.shape();
  const bool same_rows =
      rows_shape(list.counts_name, list.counts) == rows_shape(first.counts_name, first.counts);
  if (!same_rows) {
    throw Error(Errc::kShape, fmt::format("{} has the shape {}, but {} {}", list.counts_name,
                                          shape_text(expected), first.counts_name,
                                          shape_text(first.counts.shape())));
  }
  std::vector<Index> rows = list.indices.shape();
  if (!rows.empty()) rows.pop_back();
  if (list.indices.rank() != 0 && rows == expected) return;
  throw Error(Errc::kShape, fmt::format("{} has the shape {}; {} {} needs one axis more, of blocks",
                                        list.indices_name, shape_text(list.indices.shape()),
                                        list.counts_name, shape_text(expected)));
}

void mark_list(const NamedBlockList& list, Tensor& map) {
  const Index heads = map.extent(1), rows = map.extent(2), columns = map.extent(3);
  const Index width = list.indices.extent(list.indices.rank() - 1);
  const Int32Elements counts(list.counts, list.counts_name),
      indices(list.indices, list.indices_name);
  const auto cells = map.as<std::uint8_t>();
  const StopPoll poll;
  for (Index i = 0; i < map.extent(0) * heads * rows; ++i) {
    poll();
    const Index count = counts[i];
    if (count < 0 || count > width) {
      refuse({list.counts_name, i / rows, heads, i % rows},
             fmt::format("{} blocks; a row of {} has {}", count, list.indices_name, width));
    }
    mark({list.indices_name, i / rows, heads, i % rows},
         indices.part({i * width, i * width + count}), list.value,
         cells.subspan(as_size(i * columns), as_size(columns)));
  }
}

}  // namespace

Tensor map_of_lists(std::span<const NamedBlockList> lists, Index columns, Index max_bytes) {
  const NamedBlockList& first = lists.front();
  for (const NamedBlockList& list : lists) check_shapes(list, first);
  const std::vector<Index> shape = rows_shape(first.counts_name, first.counts);
  Tensor map = empty_map(shape[0], shape[1], shape[2], columns, max_bytes);
  for (const NamedBlockList& list : lists) mark_list(list, map);
  return map;
}

Tensor map_of_rows(const BlockRows& rows, Index columns, Index max_bytes) {
  const std::vector<Index> shape = rows_shape("indptr", rows.indptr);
  if (shape[2] == 0 || rows.indices.rank() != 1) {
    throw Error(Errc::kShape,
                fmt::format("indptr {} and indices {}; expected (rows + 1,) or (B, H, rows + 1), "
                            "and (blocks,)",
                            shape_text(rows.indptr.shape()), shape_text(rows.indices.shape())));
  }
  const Index heads = shape[1], count = shape[2] - 1, planes = shape[0] * heads;
  Tensor map = empty_map(shape[0], heads, count, columns, max_bytes);
  const Int32Elements indptr(rows.indptr, "indptr"), indices(rows.indices, "indices");
  const Index all = rows.indices.elements();
  const auto cells = map.as<std::uint8_t>();
  Index at = 0;
  const StopPoll poll;
  for (Index i = 0; i < planes * shape[2]; ++i) {
    poll();
    const Index plane = i / shape[2], row = i % shape[2];
    const Index end = indptr[i];
    const bool begins = row == 0;
    if (begins ? end != at : end < at || end > all) {
      refuse({"indptr", plane, heads, row},
             begins ? fmt::format("{}; expected {}, where the rows begin", end, at)
                    : fmt::format("{}; expected {} to {}", end, at, all));
    }
    if (!begins) {
      mark({"indices", plane, heads, row - 1}, indices.part({at, end}), 1,
           cells.subspan(as_size((plane * count + row - 1) * columns), as_size(columns)));
    }
    at = end;
  }
  if (at != all) {
    throw Error(Errc::kFormat, fmt::format("indptr ends at {}, but there are {} indices", at, all));
  }
  return map;
}

void check_transposed(const Tensor& map, const Tensor& transposed) {
  const Index heads = map.extent(1), rows = map.extent(2), columns = map.extent(3);
  const std::vector<Index> expected{map.extent(0), heads, columns, rows};
  if (transposed.shape() != expected) {
    throw Error(Errc::kShape, fmt::format("the lists of key blocks are of a map {}; expected {}",
                                          shape_text(transposed.shape()), shape_text(expected)));
  }
  constexpr std::string_view kNames[] = {"no list", "the partial list", "the full list"};
  const auto by_query = map.as<std::uint8_t>(), by_key = transposed.as<std::uint8_t>();
  const StopPoll poll;
  for (Index i = 0; i < map.extent(0) * heads * columns; ++i) {
    poll();
    const Index plane = i / columns, column = i % columns;
    for (Index row = 0; row < rows; ++row) {
      const std::uint8_t here = by_key[as_size(i * rows + row)];
      const std::uint8_t there = by_query[as_size((plane * rows + row) * columns + column)];
      if (here == there) continue;
      refuse({"q_indices", plane, heads, column},
             fmt::format("query block {} is in {}; by kv_indices in {}", row, kNames[here],
                         kNames[there]));
    }
  }
}

}  // namespace maskctl
