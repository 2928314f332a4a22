// What a block-sparse kernel loads: block classes, prefetch indices, deduplicated partial blocks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "maskctl/ejkernel/lazy/lazy_mask.h"
#include "maskctl/mask/blocks/block_map.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::lazy {

struct BlockInfoOptions {
  Index q_block = 0, kv_block = 0;
  bool is_dkv = false;  // walk (kv, head, q) instead of (head, q, kv)
  bool downcast_smem_data = true;
  Index head_shards = 1;
  Index q_seq_shards = 1;
  bool shrink_grid = true;
};

/// The distinct partial blocks, stored as positions in the mask; elements are made when read.
class PartialBlocks {
 public:
  virtual ~PartialBlocks() = default;
  /// [n, bq, bk]; for dkv [n, bk, bq]; in the dynamic form [H, nq, nk, ...].
  virtual std::vector<Index> shape() const = 0;
  /// One block as bool [bq, bk] (dkv: [bk, bq]).
  virtual Tensor block(Index number) const = 0;
  /// All blocks. Throws Error(kLimit) when they take more than max_bytes.
  Tensor tensor(Index max_bytes = Index{4} << 30) const;
};

/// Names, shapes and values are those of ejkernel. X = head_shards if every shard holds one
/// distinct mask, else the number of heads; nq and nk are numbers of blocks (after shrinking, if
/// any).
struct BlockInfo {
  Tensor block_mask;                // [X, nq, nk]: 0 empty, 1 partial, 2 full
  Tensor data_next;                 // [X, nq, nk]: the kv (dkv: q) block to load next
  std::optional<Tensor> mask_next;  // [X, nq, nk]: the partial block to load next
  std::shared_ptr<const PartialBlocks> partial_mask_blocks;  // null: none
  std::optional<Tensor> q_sequence;  // [Q] int32, only for one computable mask
  bool is_dynamic_mask = false;
  bool has_mask_function = false;  // one distinct computable mask: the kernel evaluates its rule
};

/// Computed from tile classes, without a dense array. Throws PythonError(ValueError) for blocks,
/// shards or heads that do not divide and for a mask that is not [H,Q,K],
/// PythonError(AssertionError) when shrinking a mask (or query shard) without open cells,
/// Error(kLimit) for arrays over 4 GiB. Like ejkernel, throws PythonError(ValueError) for several
/// query shards of a shrunk mask without partial blocks.
/// Source: splash attention's mask info of JAX, whose numbering is kept.
BlockInfo process_mask(const MaskPtr& mask, const BlockInfoOptions& options);
/// process_mask() of one batch of any mask. Equal planes count as one distinct mask, and none is
/// computable. Shards without partial blocks are not an error here: mask_next is absent.
BlockInfo process_mask(const Mask& mask, Index batch, const BlockInfoOptions& options);
/// The form for masks that are known only at run time: [H,Q,K] bool, every block kept.
BlockInfo process_dynamic_mask(const Tensor& mask, const BlockInfoOptions& options);

}  // namespace maskctl::lazy
