#include "maskctl/io/masks/block_lists_io.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/io/formats/container.h"
#include "maskctl/io/masks/array_group.h"
#include "maskctl/mask/arrays/array_kinds.h"
#include "maskctl/mask/arrays/block_lists.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

constexpr const char* kBlockSizeKey = "block_size";
constexpr const char* kTorchBlockSizeKey = "BLOCK_SIZE";
constexpr const char* kLengthsKey = "seq_lengths";

/// The names of the two arrays that list blocks. by_keys is true if they have a row for each block
/// of keys, false if for each block of queries.
struct ListRow {
  const char *counts, *indices;
  Fill fill;
  bool by_keys = false;

  std::uint8_t value() const { return fill == Fill::kFull ? 2 : 1; }
};
constexpr std::array kFlexLists{
    ListRow{"kv_num_blocks", "kv_indices", Fill::kPartial},
    ListRow{"full_kv_num_blocks", "full_kv_indices", Fill::kFull},
    ListRow{"q_num_blocks", "q_indices", Fill::kPartial, true},
    ListRow{"full_q_num_blocks", "full_q_indices", Fill::kFull, true},
};
constexpr std::array kFa4Lists{
    ListRow{"mask_block_cnt", "mask_block_idx", Fill::kPartial},
    ListRow{"full_block_cnt", "full_block_idx", Fill::kFull},
};

std::span<const ListRow> lists_of(ArrayKind kind) {
  if (kind == ArrayKind::kFlex) return kFlexLists;
  return kFa4Lists;
}

std::vector<const char*> keys_of(ArrayKind kind) {
  std::vector<const char*> keys{kBlockSizeKey, kTorchBlockSizeKey, kLengthsKey};
  if (kind == ArrayKind::kBsr) {
    keys.insert(keys.end(), {"indptr", "indices"});
  } else {
    for (const ListRow& list : lists_of(kind)) keys.insert(keys.end(), {list.counts, list.indices});
  }
  return keys;
}

BlockSize size_of(const ArrayGroup& group, ArrayKind kind, const MaskReadOptions& options) {
  const auto own = group.two(kBlockSizeKey, 1);
  const auto stored = own ? own : group.two(kTorchBlockSizeKey, 1);
  if (!stored) {
    if (options.block) return *options.block;
    throw Error(Errc::kInvalidArgument,
                fmt::format("{} arrays without an array block_size do not say how large blocks are",
                            name(kind)),
                {{Remedy::kReadAs, kind == ArrayKind::kFlex  ? "flex:QxK"
                                   : kind == ArrayKind::kFa4 ? "fa4:QxK"
                                                             : "bsr:QxK"}});
  }
  const BlockSize size{(*stored)[0], (*stored)[1]};
  if (!options.block || *options.block == size) return size;
  throw Error(Errc::kInvalidArgument,
              fmt::format("blocks of {}x{} are asked for, but block_size says {}x{}",
                          options.block->q, options.block->k, size.q, size.k));
}

/// The numbers of queries and keys, as far as they are known without reading the lists.
std::array<std::optional<Index>, 2> lengths_of(const ArrayGroup& group,
                                               const MaskReadOptions& options) {
  if (const auto stored = group.two(kLengthsKey, 0)) return {(*stored)[0], (*stored)[1]};
  if (options.shape) return {(*options.shape)[2], (*options.shape)[3]};
  return {};
}

/// Throws unless `length` tokens in blocks of `block` make exactly `blocks` blocks.
void check_length(std::string_view what, std::optional<Index> length, Index block, Index blocks) {
  if (!length || ceil_div(*length, block) == blocks) return;
  throw Error(Errc::kFormat, fmt::format("{} {} are {} blocks of {}, but the lists have {}",
                                         *length, what, ceil_div(*length, block), block, blocks));
}

/// The number of blocks of keys. Throws if the number of keys is not known.
Index key_blocks(std::optional<Index> keys, Index block, ArrayKind kind) {
  if (keys) return ceil_div(*keys, block);
  throw Error(
      Errc::kShape,
      fmt::format("{} arrays without an array seq_lengths do not say how many keys there are",
                  name(kind)),
      {{Remedy::kGiveShape}});
}

std::vector<NamedBlockList> taken(ArrayGroup& group, ArrayKind kind, bool by_keys) {
  std::vector<NamedBlockList> out;
  for (const ListRow& list : lists_of(kind)) {
    if (list.by_keys != by_keys) continue;
    const bool counts = group.find(list.counts), indices = group.find(list.indices);
    if (counts != indices) {
      throw Error(Errc::kFormat, fmt::format("{} without {}", counts ? list.counts : list.indices,
                                             counts ? list.indices : list.counts));
    }
    if (!counts) continue;
    out.push_back({list.counts, list.indices, group.take(list.counts), group.take(list.indices),
                   list.value()});
  }
  return out;
}

Tensor flex_map(ArrayGroup& group, std::optional<Index> keys, Index block, Index max_bytes) {
  const auto lists = taken(group, ArrayKind::kFlex, false);
  const Tensor& indices = lists.front().indices;
  const Index width = indices.rank() == 0 ? 0 : indices.extent(indices.rank() - 1);
  // torch allows lists with fewer columns than there are blocks of keys.
  const Index columns = keys ? ceil_div(*keys, block) : width;
  if (width > columns) check_length("keys", keys, block, width);
  Tensor map = map_of_lists(lists, columns, max_bytes);
  const auto transposed = taken(group, ArrayKind::kFlex, true);
  if (transposed.empty()) return map;
  const Tensor by_keys = map_of_lists(transposed, map.extent(2), max_bytes);
  check_length("keys", keys, block, by_keys.extent(2));
  check_transposed(map, by_keys);
  return map;
}

Tensor map_of(ArrayGroup& group, ArrayKind kind, std::optional<Index> keys, Index block,
              Index max_bytes) {
  if (kind == ArrayKind::kFlex) return flex_map(group, keys, block, max_bytes);
  const Index columns = key_blocks(keys, block, kind);
  if (kind == ArrayKind::kBsr) {
    return map_of_rows({group.take("indptr"), group.take("indices")}, columns, max_bytes);
  }
  return map_of_lists(taken(group, kind, false), columns, max_bytes);
}

/// A mask in which every cell of every listed block is open.
Mask opened(const Tensor& map, BlockSize size, std::optional<Index> queries,
            std::optional<Index> keys) {
  return mask_from_blockmap(astype(map, DType::kBool), size.q, size.k, queries, keys);
}

Tensor pair_of(Index q, Index k) {
  Tensor out(DType::kInt64, {2});
  out.as<std::int64_t>()[0] = q;
  out.as<std::int64_t>()[1] = k;
  return out;
}

}  // namespace

LoadedMask load_block_lists(Container& container, const std::string& group, ArrayKind kind,
                            const MaskReadOptions& options) {
  LoadedMask out;
  ArrayGroup arrays(container, group, keys_of(kind), options.read, out.notes);
  try {
    const BlockSize size = size_of(arrays, kind, options);
    const auto [queries, keys] = lengths_of(arrays, options);
    Tensor map = map_of(arrays, kind, keys, size.k, options.read.max_bytes);
    check_length("queries", queries, size.q, map.extent(2));
    out.mask = opened(map, size, queries, keys);
    out.kind = kind;
    out.dtype = "int32";
    out.array_shape = map.shape();
    const Index partial = std::ranges::count(map.as<std::uint8_t>(), 1);
    if (kind != ArrayKind::kBsr && partial > 0) {
      out.notes.push_back(
          fmt::format("{}: {} partial blocks are read as open, for lists do not say which of their "
                      "cells are; audit compares them with a mask",
                      container.name(), partial));
    }
    out.blocks = BlockMapRead{std::move(map), size};
  } catch (const Error& error) {
    throw error.within(container.name());
  }
  return out;
}

std::vector<NamedTensor> block_list_arrays(const MaskBlocks& blocks, ArrayKind kind, bool by_keys,
                                           Index max_bytes) {
  const bool flex = kind == ArrayKind::kFlex;
  const MaskBlocks transposed = by_keys || flex ? key_major(blocks) : MaskBlocks();
  const MaskBlocks& rows = by_keys ? transposed : blocks;
  std::vector<NamedTensor> out;
  if (kind == ArrayKind::kBsr) {
    BlockRows made = block_rows(rows, max_bytes);
    out.push_back({"indptr", std::move(made.indptr)});
    out.push_back({"indices", std::move(made.indices)});
  } else {
    for (const ListRow& list : lists_of(kind)) {
      BlockList made = block_list(list.by_keys ? transposed : rows, list.fill,
                                  flex ? ListWidth::kColumns : ListWidth::kLongest, max_bytes);
      out.push_back({list.counts, std::move(made.counts)});
      out.push_back({list.indices, std::move(made.indices)});
    }
  }
  out.push_back({kBlockSizeKey, pair_of(rows.size.q, rows.size.k)});
  out.push_back({kLengthsKey, pair_of(rows.queries, rows.keys)});
  return out;
}

}  // namespace maskctl
