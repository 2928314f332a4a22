// The arrays that a block-sparse kernel reads: classes of blocks, prefetch indices, and the
// distinct partial blocks.
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
  bool is_dkv = false;  // for the dK/dV kernel, which visits (kv, head, q) instead of (head, q, kv)
  bool downcast_smem_data = true;
  Index head_shards = 1;
  Index q_seq_shards = 1;
  bool shrink_grid = true;
};

/// The distinct partial blocks. They are stored as positions in the mask; elements are computed
/// when read.
class PartialBlocks {
 public:
  virtual ~PartialBlocks() = default;
  /// The shape of tensor(): [n, bq, bk], or [n, bk, bq] for dkv; for a dynamic mask [H, nq, nk, bq,
  /// bk] (dkv: [H, nq, nk, bk, bq]).
  virtual std::vector<Index> shape() const = 0;
  /// One block as bool [bq, bk] (dkv: [bk, bq]).
  virtual Tensor block(Index number) const = 0;
  /// Returns all these blocks as one array. Throws Error(kLimit) if it takes more than max_bytes.
  Tensor tensor(Index max_bytes = Index{4} << 30) const;
};

/// Names, shapes and values are those of ejkernel. X is head_shards if all heads of each shard have
/// the same mask, else the number of heads. nq and nk are numbers of blocks, after shrinking if
/// shrink_grid applies.
struct BlockInfo {
  Tensor block_mask;                // [X, nq, nk]: 0 empty, 1 partial, 2 full
  Tensor data_next;                 // [X, nq, nk]: the kv (dkv: q) block to load next
  std::optional<Tensor> mask_next;  // [X, nq, nk]: the partial block to load next
  std::shared_ptr<const PartialBlocks> partial_mask_blocks;  // null: no partial blocks
  std::optional<Tensor> q_sequence;                          // [Q] int32; only if has_mask_function
  bool is_dynamic_mask = false;
  bool has_mask_function = false;  // all heads share one computable mask: kernels evaluate its rule
};

/// Computes the arrays from the classes of tiles, without a dense array. Throws
/// PythonError(ValueError) if block sizes or shard counts do not divide the mask, or if it is not
/// [H,Q,K]; PythonError(AssertionError) if the grid is shrunk and the mask, or a query shard of it,
/// has no open cell; Error(kLimit) for arrays over 4 GiB. Like ejkernel, it throws
/// PythonError(ValueError) if the grid is shrunk, there are several query shards and the mask has
/// no partial blocks. Partial blocks are numbered as in the source, the mask info of JAX's splash
/// attention.
BlockInfo process_mask(const MaskPtr& mask, const BlockInfoOptions& options);
/// Like process_mask(), for one batch row of any mask. Heads with equal planes count as having the
/// same mask; no mask counts as computable (see LazyMask::is_computable()). For several query
/// shards without partial blocks, this function does not throw: mask_next is nullopt.
BlockInfo process_mask(const Mask& mask, Index batch, const BlockInfoOptions& options);
/// For masks whose values are known only at run time: [H,Q,K] bool; every block is kept.
BlockInfo process_dynamic_mask(const Tensor& mask, const BlockInfoOptions& options);

}  // namespace maskctl::lazy
