#include "maskctl/ejkernel/lazy/block_walk.h"

#include <algorithm>

namespace maskctl::lazy {
namespace {

template <typename T>
void store(std::span<const std::int32_t> values, std::span<T> out) {
  for (std::size_t i = 0; i < values.size(); ++i) out[i] = static_cast<T>(values[i]);
}

void store(std::span<const std::int32_t> values, Index offset, Tensor& out) {
  const auto part = [&](auto elements) { return elements.subspan(as_size(offset), values.size()); };
  switch (out.dtype()) {
    case DType::kInt8:
      return store(values, part(out.as<std::int8_t>()));
    case DType::kInt16:
      return store(values, part(out.as<std::int16_t>()));
    default:
      return store(values, part(out.as<std::int32_t>()));
  }
}

std::int32_t block_class(Fill fill) { return fill == Fill::kFull ? 2 : 1; }

Index blocks_of(std::span<const TileRun> runs) {
  Index blocks = 0;
  for (const TileRun& run : runs) blocks += run.count;
  return blocks;
}

}  // namespace

BlockArrays::Row::Row(Index columns)
    : block_mask(as_size(columns)), data_next(as_size(columns)), mask_next(as_size(columns)) {}

void BlockArrays::Row::copy(std::size_t to, const Row& from, std::size_t at) {
  block_mask[to] = from.block_mask[at];
  data_next[to] = from.data_next[at];
  mask_next[to] = from.mask_next[at];
}

void BlockArrays::set_row(Index slab, Index row, const Row& values) {
  const Index offset =
      (slab * block_mask.extent(1) + row) * static_cast<Index>(values.block_mask.size());
  store(values.block_mask, offset, block_mask);
  store(values.data_next, offset, data_next);
  if (mask_next) store(values.mask_next, offset, *mask_next);
}

// walk_rows() and walk_columns() visit the blocks in reverse order, so that the next block of a
// step is always the one visited last.

template <typename RowDone>
void BlockWalk::walk_rows(const RowDone& done) const {
  std::optional<std::int32_t> first_data, first_mask;
  for (std::size_t head = 0; head < heads.size() && !first_mask; ++head) {
    for (Index row = rows.begin; row < rows.end && !first_mask; ++row) {
      for (const TileRun& run : heads[head]->tiles.row(row)) {
        if (!first_data) first_data = run.first;
        if (run.fill != Fill::kPartial) continue;
        first_mask = static_cast<std::int32_t>(heads[head]->number_of(run, run.first));
        break;
      }
    }
  }
  std::int32_t data = first_data.value_or(0), mask = first_mask.value_or(0);
  BlockArrays::Row next(columns);
  for (std::size_t head = heads.size(); head-- > 0;) {
    for (Index row = rows.end; row-- > rows.begin;) {
      const std::span<const TileRun> runs = heads[head]->tiles.row(row);
      std::fill(next.block_mask.begin(), next.block_mask.end(), 0);
      Index end = columns;
      const auto fill_gap = [&](Index begin) {
        std::fill(next.data_next.begin() + begin, next.data_next.begin() + end, data);
        std::fill(next.mask_next.begin() + begin, next.mask_next.begin() + end, mask);
      };
      for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
        fill_gap(run->first + run->count);
        for (Index tile = run->first + run->count; tile-- > run->first;) {
          data = static_cast<std::int32_t>(tile);
          if (run->fill == Fill::kPartial) {
            mask = static_cast<std::int32_t>(heads[head]->number_of(*run, tile));
          }
          next.block_mask[as_size(tile)] = block_class(run->fill);
          next.data_next[as_size(tile)] = data;
          next.mask_next[as_size(tile)] = mask;
        }
        end = run->first;
      }
      fill_gap(0);
      done(static_cast<Index>(head), row, runs, next);
    }
  }
}

template <typename RowDone>
void BlockWalk::walk_columns(const RowDone& done) const {
  // For each column of blocks: the row of its first nonempty block (`data`), and the number of its
  // first partial block (`mask`); -1 if there is none. `follow` then replaces the value of each
  // column by that of the next column with a value, or, if there is none, of the first column with
  // one. A kernel continues there after the last row of the column.
  std::vector<std::int32_t> data(as_size(columns), -1), mask(as_size(columns), -1);
  for (const NumberedBlocks* head : heads) {
    for (Index row = rows.begin; row < rows.end; ++row) {
      for (const TileRun& run : head->tiles.row(row)) {
        for (Index tile = run.first; tile < run.first + run.count; ++tile) {
          if (data[as_size(tile)] < 0)
            data[as_size(tile)] = static_cast<std::int32_t>(row - rows.begin);
          if (run.fill == Fill::kPartial && mask[as_size(tile)] < 0) {
            mask[as_size(tile)] = static_cast<std::int32_t>(head->number_of(run, tile));
          }
        }
      }
    }
  }
  const auto follow = [](std::vector<std::int32_t>& first) {
    const auto any = std::find_if(first.begin(), first.end(), [](auto v) { return v >= 0; });
    std::int32_t next = any == first.end() ? 0 : *any;
    for (auto value = first.rbegin(); value != first.rend(); ++value) {
      const std::int32_t own = *value;
      *value = next;
      if (own >= 0) next = own;
    }
  };
  follow(data);
  follow(mask);
  BlockArrays::Row next(columns);
  next.data_next = std::move(data);
  next.mask_next = std::move(mask);
  for (std::size_t head = heads.size(); head-- > 0;) {
    for (Index row = rows.end; row-- > rows.begin;) {
      const std::span<const TileRun> runs = heads[head]->tiles.row(row);
      std::fill(next.block_mask.begin(), next.block_mask.end(), 0);
      for (const TileRun& run : runs) {
        for (Index tile = run.first; tile < run.first + run.count; ++tile) {
          next.block_mask[as_size(tile)] = block_class(run.fill);
          next.data_next[as_size(tile)] = static_cast<std::int32_t>(row - rows.begin);
          if (run.fill != Fill::kPartial) continue;
          next.mask_next[as_size(tile)] =
              static_cast<std::int32_t>(heads[head]->number_of(run, tile));
        }
      }
      done(static_cast<Index>(head), row, runs, next);
    }
  }
}

void BlockWalk::fill(BlockArrays& out, Index first_slab) const {
  const auto done = [&](Index head, Index row, std::span<const TileRun>,
                        const BlockArrays::Row& values) {
    out.set_row(first_slab + head, row, values);
  };
  if (is_dkv) {
    walk_columns(done);
  } else {
    walk_rows(done);
  }
}

Index BlockWalk::shrunk_extent() const {
  Index longest = 0;
  std::vector<Index> in_column(as_size(is_dkv ? columns : 0));
  for (Index row = rows.begin; row < rows.end; ++row) {
    const std::span<const TileRun> runs = heads.front()->tiles.row(row);
    if (!is_dkv) longest = std::max(longest, blocks_of(runs));
    for (const TileRun& run : is_dkv ? runs : std::span<const TileRun>{}) {
      for (Index tile = run.first; tile < run.first + run.count; ++tile) ++in_column[as_size(tile)];
    }
  }
  for (const Index blocks : in_column) longest = std::max(longest, blocks);
  return longest;
}

void BlockWalk::fill_shrunk(BlockArrays& out, Index first_row, Index padded) const {
  if (is_dkv) {
    pack_columns(out, first_row, padded);
  } else {
    pack_rows(out, first_row, padded);
  }
}

void BlockWalk::pack_rows(BlockArrays& out, Index first_row, Index padded) const {
  const Index extent = shrunk_extent();
  walk_rows([&](Index, Index row, std::span<const TileRun> runs, const BlockArrays::Row& from) {
    BlockArrays::Row packed(padded);
    std::size_t to = 0;
    for (const TileRun& run : runs) {
      for (Index tile = run.first; tile < run.first + run.count; ++tile) {
        packed.copy(to++, from, as_size(tile));
      }
    }
    for (auto* values : {&packed.data_next, &packed.mask_next}) {
      std::fill(values->begin() + extent, values->end(), (*values)[as_size(extent - 1)]);
    }
    out.set_row(0, first_row + row - rows.begin, packed);
  });
}

void BlockWalk::pack_columns(BlockArrays& out, Index first_row, Index padded) const {
  const Index extent = shrunk_extent();
  std::vector<BlockArrays::Row> packed(as_size(extent), BlockArrays::Row(columns));
  // for each column of blocks: the row of the topmost block that is packed so far
  std::vector<Index> top(as_size(columns), extent);
  walk_columns([&](Index, Index, std::span<const TileRun> runs, const BlockArrays::Row& from) {
    for (const TileRun& run : runs) {
      for (Index tile = run.first; tile < run.first + run.count; ++tile) {
        packed[as_size(--top[as_size(tile)])].copy(as_size(tile), from, as_size(tile));
      }
    }
  });
  for (Index row = 0; row < extent; ++row) out.set_row(0, first_row + row, packed[as_size(row)]);
  BlockArrays::Row edge = packed.back();
  std::fill(edge.block_mask.begin(), edge.block_mask.end(), 0);
  for (Index row = extent; row < padded; ++row) out.set_row(0, first_row + row, edge);
}

}  // namespace maskctl::lazy
