#include "maskctl/ejkernel/lazy/block_info.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "maskctl/base/checked.h"
#include "maskctl/ejkernel/lazy/block_grid.h"
#include "maskctl/ejkernel/lazy/block_walk.h"
#include "maskctl/ejkernel/mask_info/python_error.h"

namespace maskctl::lazy {
namespace {

constexpr Index kMostArrayBytes = Index{4} << 30;

/// What to do in two cases. If no block is left, kEjkernel raises an error without a message, as
/// ejkernel does, and kOwn one with a message. If a shrunk mask of several query shards has no
/// partial block, kEjkernel raises ejkernel's error, and with kOwn mask_next is nullopt.
enum class Errors : std::uint8_t { kEjkernel, kOwn };

/// The distinct masks of the heads, and which of them each head has.
struct HeadMasks {
  std::vector<NumberedBlocks> distinct;  // in the order in which they first appear
  std::vector<std::size_t> of_head;
};

/// Computes the arrays of a BlockInfo for one grid of blocks.
class Assembly {
 public:
  Assembly(const HeadMasks& masks, const BlockGrid& grid, Index partial_blocks,
           const BlockInfoOptions& options, Errors errors)
      : masks_(masks),
        grid_(grid),
        partial_blocks_(partial_blocks),
        options_(options),
        errors_(errors) {
    one_mask_a_shard_ = true;
    for (Index shard = 0; shard < options.head_shards; ++shard) {
      const auto heads = of_shard(shard);
      one_mask_a_shard_ &= std::all_of(heads.begin(), heads.end(),
                                       [&](std::size_t mask) { return mask == heads.front(); });
    }
    slabs_ = one_mask_a_shard_ ? options.head_shards : grid.heads;
  }

  BlockArrays arrays() const {
    const bool one_mask = masks_.distinct.size() == 1;
    return options_.shrink_grid && one_mask ? shrunk() : whole();
  }

 private:
  std::span<const std::size_t> of_shard(Index shard) const {
    return std::span(masks_.of_head)
        .subspan(as_size(shard * grid_.heads_per_shard), as_size(grid_.heads_per_shard));
  }

  BlockWalk walk(Index head_shard, Index q_shard) const {
    const auto of_heads = of_shard(head_shard);
    BlockWalk out;
    for (const std::size_t mask : one_mask_a_shard_ ? of_heads.first(1) : of_heads) {
      out.heads.push_back(&masks_.distinct[mask]);
    }
    out.rows = {q_shard * grid_.rows_per_shard, (q_shard + 1) * grid_.rows_per_shard};
    out.columns = grid_.columns;
    out.is_dkv = options_.is_dkv;
    return out;
  }

  /// Arrays of zeros, in the smallest dtypes for the values that they will hold. Every nonempty
  /// block is visited, so the largest value of data_next is that of the last nonempty block.
  BlockArrays zeros(std::vector<Index> shape) const {
    Index last = 0;
    for (const NumberedBlocks& mask : masks_.distinct) {
      for (Index row = 0; row < grid_.rows; ++row) {
        const auto runs = mask.tiles.row(row);
        if (runs.empty()) continue;
        last = std::max<Index>(last, options_.is_dkv ? row % grid_.rows_per_shard
                                                     : runs.back().first + runs.back().count - 1);
      }
    }
    const auto size = checked_product(shape);
    if (!size || *size > kMostArrayBytes / 4) {
      throw Error(Errc::kLimit, fmt::format("block arrays of {}: expected at most {} bytes each; "
                                            "take larger blocks",
                                            shape_text(shape), kMostArrayBytes));
    }
    const auto dtype = [&](Index most) {
      return options_.downcast_smem_data && *size > 0 ? smallest_dtype(most) : DType::kInt32;
    };
    BlockArrays out{Tensor(dtype(2), shape), Tensor(dtype(last), shape), std::nullopt};
    if (partial_blocks_ > 0) out.mask_next = Tensor(dtype(partial_blocks_ - 1), shape);
    return out;
  }

  /// Copies the part of each array at index 0 of its first axis (heads or head shards) to all other
  /// indices of that axis.
  void repeat(BlockArrays& out) const {
    const auto copy = [&](Tensor& array) {
      const std::size_t slab = array.bytes().size() / as_size(slabs_);
      for (std::size_t i = 1; i < as_size(slabs_); ++i) {
        std::copy_n(array.bytes().begin(), slab, array.bytes().subspan(i * slab).begin());
      }
    };
    copy(out.block_mask);
    copy(out.data_next);
    if (out.mask_next) copy(*out.mask_next);
  }

  BlockArrays whole() const {
    BlockArrays out = zeros({slabs_, grid_.rows, grid_.columns});
    const bool all_equal = masks_.distinct.size() == 1;
    for (Index shard = 0; shard < (all_equal ? 1 : options_.head_shards); ++shard) {
      for (Index q_shard = 0; q_shard < options_.q_seq_shards; ++q_shard) {
        const BlockWalk one = walk(shard, q_shard);
        one.fill(out, shard * static_cast<Index>(one.heads.size()));
      }
    }
    if (all_equal) repeat(out);
    return out;
  }

  [[noreturn]] void refuse_empty(Index q_shard) const {
    if (errors_ == Errors::kEjkernel) throw PythonError(PythonType::kAssertionError, "");
    throw PythonError(
        PythonType::kAssertionError,
        fmt::format(
            "every block of query shard {} is empty: expected an open cell, or no shrinking",
            q_shard));
  }

  BlockArrays shrunk() const {
    Index extent = 0;
    for (Index q_shard = 0; q_shard < options_.q_seq_shards; ++q_shard) {
      const Index own = walk(0, q_shard).shrunk_extent();
      if (own == 0) refuse_empty(q_shard);
      extent = std::max(extent, own);
    }
    if (errors_ == Errors::kEjkernel && options_.q_seq_shards > 1 && partial_blocks_ == 0) {
      throw PythonError(PythonType::kValueError, "need at least one array to concatenate");
    }
    BlockArrays out = zeros(
        options_.is_dkv ? std::vector<Index>{slabs_, extent * options_.q_seq_shards, grid_.columns}
                        : std::vector<Index>{slabs_, grid_.rows, extent});
    const Index rows = options_.is_dkv ? extent : grid_.rows_per_shard;
    for (Index q_shard = 0; q_shard < options_.q_seq_shards; ++q_shard) {
      walk(0, q_shard).fill_shrunk(out, q_shard * rows, extent);
    }
    repeat(out);
    return out;
  }

  const HeadMasks& masks_;
  const BlockGrid& grid_;
  Index partial_blocks_;
  const BlockInfoOptions& options_;
  Errors errors_;
  bool one_mask_a_shard_;
  Index slabs_;
};

BlockInfo assembled(const HeadMasks& masks, const BlockGrid& grid, const BlockNumbers& numbers,
                    const BlockInfoOptions& options, Errors errors) {
  BlockArrays arrays = Assembly(masks, grid, numbers.count(), options, errors).arrays();
  BlockInfo info;
  info.block_mask = std::move(arrays.block_mask);
  info.data_next = std::move(arrays.data_next);
  info.mask_next = std::move(arrays.mask_next);
  info.partial_mask_blocks = numbers.blocks(options.is_dkv);
  return info;
}

Tensor positions(Index queries) {
  Tensor out(DType::kInt32, {queries});
  std::int32_t next = 0;
  for (std::int32_t& position : out.as<std::int32_t>()) position = next++;
  return out;
}

}  // namespace

BlockInfo process_mask(const MaskPtr& mask, const BlockInfoOptions& options) {
  const std::vector<Index> shape = mask->shape();
  if (shape.size() != 3) {
    throw PythonError(
        PythonType::kValueError,
        fmt::format("Expected a 3-dim mask, instead got: mask.shape={}", shape_text(shape)));
  }
  const BlockGrid grid = block_grid_of(shape, options);
  std::vector<MaskPtr> distinct;
  std::unordered_multimap<std::size_t, std::size_t> by_hash;
  HeadMasks masks;
  BlockNumbers numbers(options.q_block, options.kv_block);
  for (const MaskPtr& head : heads_of(mask)) {
    const std::size_t hash = head->hash();
    const auto [begin, end] = by_hash.equal_range(hash);
    const auto known =
        std::find_if(begin, end, [&](const auto& e) { return distinct[e.second]->equals(*head); });
    masks.of_head.push_back(known == end ? distinct.size() : known->second);
    if (known != end) continue;
    by_hash.emplace(hash, distinct.size());
    distinct.push_back(head);
    masks.distinct.push_back(numbers.add(head->mask().plane(0, 0)));
  }
  BlockInfo info = assembled(masks, grid, numbers, options, Errors::kEjkernel);
  if (distinct.size() == 1 && distinct.front()->is_computable()) {
    info.has_mask_function = true;
    info.q_sequence = positions(shape[1]);
    info.mask_next.reset();
    info.partial_mask_blocks.reset();
  }
  return info;
}

BlockInfo process_mask(const Mask& mask, Index batch, const BlockInfoOptions& options) {
  if (batch < 0 || batch >= mask.batch()) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("batch {}: expected 0 to {}", batch, mask.batch() - 1));
  }
  const BlockGrid grid = block_grid_of({mask.heads(), mask.queries(), mask.keys()}, options);
  if (mask.heads() == 0) {
    throw Error(Errc::kShape, "mask " + maskctl::shape_text(mask) + ": expected at least one head");
  }
  HeadMasks masks;
  BlockNumbers numbers(options.q_block, options.kv_block);
  std::unordered_map<std::uint32_t, std::size_t> by_plane;
  for (Index head = 0; head < mask.heads(); ++head) {
    const auto [known, added] = by_plane.try_emplace(mask.index_of(batch, head), 0);
    if (added) {
      // The blocks are numbered before the plane is compared with earlier planes. If it equals one,
      // this adds no new numbers.
      NumberedBlocks own = numbers.add(mask.plane(batch, head));
      const auto equal = std::find_if(masks.distinct.begin(), masks.distinct.end(),
                                      [&](const auto& other) { return same_blocks(own, other); });
      known->second = static_cast<std::size_t>(equal - masks.distinct.begin());
      if (equal == masks.distinct.end()) masks.distinct.push_back(std::move(own));
    }
    masks.of_head.push_back(known->second);
  }
  return assembled(masks, grid, numbers, options, Errors::kOwn);
}

}  // namespace maskctl::lazy
