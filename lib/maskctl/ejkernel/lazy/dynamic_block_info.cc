// Block information of a mask whose values are known only at run time: every block is kept.
#include <fmt/format.h>

#include <algorithm>

#include "maskctl/ejkernel/lazy/block_grid.h"
#include "maskctl/ejkernel/lazy/block_info.h"
#include "maskctl/ejkernel/mask_info/python_error.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::lazy {
namespace {

/// The blocks [H, rows, columns] of a dense mask [H,Q,K].
class DynamicBlocks final : public PartialBlocks {
 public:
  DynamicBlocks(Tensor mask, const BlockGrid& grid, const BlockInfoOptions& options)
      : mask_(std::move(mask)), grid_(grid), options_(options) {
    for (std::uint8_t& cell : mask_.as<std::uint8_t>()) cell = cell != 0;
  }

  std::vector<Index> shape() const override {
    std::vector<Index> out{grid_.heads, grid_.rows, grid_.columns, options_.q_block,
                           options_.kv_block};
    if (options_.is_dkv) std::swap(out[3], out[4]);
    return out;
  }
  Tensor block(Index number) const override {
    const Index q = options_.q_block, k = options_.kv_block;
    Tensor out(DType::kBool, options_.is_dkv ? std::vector{k, q} : std::vector{q, k});
    const auto cells = out.as<std::uint8_t>();
    for (Index i = 0; i < q; ++i) {
      const auto row = row_of(number, i);
      for (Index j = 0; j < k; ++j) {
        cells[as_size(options_.is_dkv ? j * q + i : i * k + j)] = row[as_size(j)];
      }
    }
    return out;
  }
  /// The class of a block: 0 empty, 1 partial, 2 full.
  std::int32_t block_class(Index number) const {
    Index open = 0;
    for (Index i = 0; i < options_.q_block; ++i) {
      const auto row = row_of(number, i);
      open += std::count(row.begin(), row.end(), std::uint8_t{1});
    }
    if (open == 0) return 0;
    return open == options_.q_block * options_.kv_block ? 2 : 1;
  }

 private:
  std::span<const std::uint8_t> row_of(Index number, Index i) const {
    const Index column = number % grid_.columns, row = number / grid_.columns;
    // number of the query row, counted over all heads
    const Index query = row * options_.q_block + i;
    return mask_.as<std::uint8_t>().subspan(
        as_size(query * mask_.extent(2) + column * options_.kv_block), as_size(options_.kv_block));
  }

  Tensor mask_;
  BlockGrid grid_;
  BlockInfoOptions options_;
};

void check(const Tensor& mask) {
  if (mask.rank() != 3) {
    throw PythonError(
        PythonType::kValueError,
        fmt::format("Expected a 3-dim mask, instead got: {}.", shape_text(mask.shape())));
  }
  if (mask.dtype() != DType::kBool) {
    throw PythonError(PythonType::kValueError,
                      fmt::format("Expected a bool mask, instead got: {}.", name(mask.dtype())));
  }
}

}  // namespace

BlockInfo process_dynamic_mask(const Tensor& mask, const BlockInfoOptions& options) {
  check(mask);
  const BlockGrid grid = block_grid_of(mask.shape(), options);
  const auto blocks = std::make_shared<DynamicBlocks>(mask, grid, options);
  const std::vector<Index> shape{grid.heads, grid.rows, grid.columns};
  Tensor classes(DType::kInt32, shape), data(DType::kInt32, shape), next(DType::kInt32, shape);
  for (Index number = 0; number < classes.elements(); ++number) {
    const std::int32_t own = blocks->block_class(number);
    if (own == 0) continue;
    const Index column = number % grid.columns, row = number / grid.columns % grid.rows;
    const Index head = number / (grid.columns * grid.rows);
    const Index local_row = row % grid.rows_per_shard;
    classes.as<std::int32_t>()[as_size(number)] = own;
    data.as<std::int32_t>()[as_size(number)] =
        static_cast<std::int32_t>(options.is_dkv ? local_row : column);
    if (own != 1) continue;
    const Index in_shard =
        (head % grid.heads_per_shard * grid.rows_per_shard + local_row) * grid.columns + column;
    next.as<std::int32_t>()[as_size(number)] = static_cast<std::int32_t>(in_shard);
  }
  BlockInfo info;
  // The dtypes are chosen by the extents, because in ejkernel the compiler does not know the mask's
  // values.
  const auto cast = [&](const Tensor& array, Index most) {
    const bool keep = !options.downcast_smem_data || array.elements() == 0;
    return keep ? array : astype(array, smallest_dtype(most));
  };
  info.block_mask = options.downcast_smem_data ? astype(classes, DType::kInt8) : classes;
  info.data_next = cast(data, options.is_dkv ? grid.rows_per_shard : grid.columns);
  info.mask_next = cast(next, grid.heads_per_shard * grid.rows_per_shard * grid.columns);
  info.partial_mask_blocks = blocks;
  info.is_dynamic_mask = true;
  return info;
}

}  // namespace maskctl::lazy
