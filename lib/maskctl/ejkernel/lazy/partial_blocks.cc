#include "maskctl/ejkernel/lazy/partial_blocks.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/mask/arrays/dense.h"

namespace maskctl::lazy {
namespace {

/// the most elements of BlockNumbers::contents_: 4 MiB
constexpr std::size_t kKeptContents = std::size_t{1} << 20;

class PlacedBlocks final : public PartialBlocks {
 public:
  PlacedBlocks(std::vector<BlockNumbers::Tile> tiles, Index rows, Index columns, bool transposed)
      : tiles_(std::move(tiles)), rows_(rows), columns_(columns), transposed_(transposed) {}

  std::vector<Index> shape() const override {
    const auto n = static_cast<Index>(tiles_.size());
    return transposed_ ? std::vector<Index>{n, columns_, rows_}
                       : std::vector<Index>{n, rows_, columns_};
  }
  Tensor block(Index number) const override {
    const BlockNumbers::Tile& tile = tiles_.at(as_size(number));
    Tensor out(DType::kBool, {rows_, columns_});
    const Index row = tile.row * rows_, column = tile.column * columns_;
    const PlanePtr cells = tile.plane->sliced({row, row + rows_}, {column, column + columns_});
    dense_rows(*cells, {0, rows_}, out.as<std::uint8_t>());
    return transposed_ ? transposed(out) : out;
  }

 private:
  static Tensor transposed(const Tensor& block) {
    const Index rows = block.extent(0), columns = block.extent(1);
    Tensor out(DType::kBool, {columns, rows});
    const auto from = block.as<std::uint8_t>();
    const auto to = out.as<std::uint8_t>();
    for (Index i = 0; i < rows; ++i) {
      for (Index j = 0; j < columns; ++j)
        to[as_size(j * rows + i)] = from[as_size(i * columns + j)];
    }
    return out;
  }

  std::vector<BlockNumbers::Tile> tiles_;
  Index rows_, columns_;
  bool transposed_;
};

}  // namespace

Tensor PartialBlocks::tensor(Index max_bytes) const {
  const std::vector<Index> extents = shape();
  const auto bytes = checked_product(extents);
  if (!bytes || *bytes > max_bytes) {
    throw Error(Errc::kLimit, fmt::format("partial blocks {} take more than {} bytes; read them "
                                          "one by one or take larger blocks",
                                          shape_text(extents), max_bytes));
  }
  Tensor out(DType::kBool, extents);
  const Index cells = extents[extents.size() - 2] * extents.back();
  for (Index number = 0; number * cells < *bytes; ++number) {
    const Tensor one = block(number);
    std::copy(one.bytes().begin(), one.bytes().end(),
              out.bytes().subspan(as_size(number * cells)).begin());
  }
  return out;
}

std::uint32_t NumberedBlocks::number_of(const TileRun& run, Index tile) const {
  const Index before = first_partial[as_size(&run - tiles.runs.data())];
  return numbers[as_size(before + tile - run.first)];
}

bool same_blocks(const NumberedBlocks& a, const NumberedBlocks& b) {
  return a.tiles.row_offsets == b.tiles.row_offsets && a.tiles.runs == b.tiles.runs &&
         a.numbers == b.numbers;
}

NumberedBlocks BlockNumbers::add(PlanePtr plane) {
  NumberedBlocks out{tile_map(*plane, q_block_, kv_block_), {}, {}};
  std::vector<std::int32_t> columns;
  for (Index row = 0; row < out.tiles.tile_rows(); ++row) {
    columns.clear();
    for (const TileRun& run : out.tiles.row(row)) {
      out.first_partial.push_back(static_cast<Index>(out.numbers.size() + columns.size()));
      if (run.fill != Fill::kPartial) continue;
      for (std::int32_t i = 0; i < run.count; ++i) columns.push_back(run.first + i);
    }
    if (!columns.empty()) number_row(plane, row, columns, out.numbers);
  }
  return out;
}

void BlockNumbers::number_row(const PlanePtr& plane, Index row,
                              std::span<const std::int32_t> columns,
                              std::vector<std::uint32_t>& out) {
  if (const auto* bands = as<BandsPlane>(plane)) {
    for (const std::int32_t column : columns) {
      out.push_back(number_band(*bands, {plane, row, column}));
    }
    return;
  }
  std::vector<TileContent> contents =
      tile_contents(*plane, {row * q_block_, (row + 1) * q_block_}, kv_block_, columns);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    out.push_back(number(std::move(contents[i]), {plane, row, columns[i]}));
  }
}

std::uint32_t BlockNumbers::number_band(const BandsPlane& plane, Tile tile) {
  BandKey key;
  band_key(plane.slabs(), {tile.row * q_block_, (tile.row + 1) * q_block_},
           {tile.column * kv_block_, (tile.column + 1) * kv_block_}, key);
  if (const auto known = by_bands_.find(key); known != by_bands_.end()) return known->second;
  TileContent content = content_at(tile);
  const std::uint32_t found = number(std::move(content), std::move(tile));
  by_bands_.emplace(std::move(key), found);
  return found;
}

std::uint32_t BlockNumbers::number(TileContent content, Tile tile) {
  const std::uint64_t hash = hash_of_values(content);
  const auto [begin, end] = by_hash_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    if (holds(it->second, content)) return it->second;
  }
  const auto next = static_cast<std::uint32_t>(tiles_.size());
  by_hash_.emplace(hash, next);
  tiles_.push_back(std::move(tile));
  if (contents_.size() == next && contents_size_ + content.size() <= kKeptContents) {
    contents_size_ += content.size();
    contents_.push_back(std::move(content));
  }
  return next;
}

bool BlockNumbers::holds(std::uint32_t number, const TileContent& content) const {
  if (number < contents_.size()) return contents_[number] == content;
  return content_at(tiles_[number]) == content;
}

TileContent BlockNumbers::content_at(const Tile& tile) const {
  const auto column = static_cast<std::int32_t>(tile.column);
  return std::move(tile_contents(*tile.plane, {tile.row * q_block_, (tile.row + 1) * q_block_},
                                 kv_block_, {&column, 1})
                       .front());
}

std::shared_ptr<const PartialBlocks> BlockNumbers::blocks(bool transposed) const {
  if (tiles_.empty()) return nullptr;
  return std::make_shared<PlacedBlocks>(tiles_, q_block_, kv_block_, transposed);
}

}  // namespace maskctl::lazy
