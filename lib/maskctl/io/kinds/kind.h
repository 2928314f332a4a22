// The kinds of arrays in which a mask can be stored: their names, and which of them an array fits.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/base/error.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl {

/// How the elements of an array say which cells are open.
enum class ArrayKind : std::uint8_t {
  kDense,       // [Q,K], [B,Q,K] or [B,H,Q,K] of bool or 0/1: open where true
  kPadding,     // [S] or [B,S] flags: open where query and key are both valid
  kKeyPadding,  // [S] or [B,S] flags: open where the key is valid
  kSegments,    // [S] or [B,S] ids: open where equal and not the pad id
  kPositions,   // [S] or [B,S] position ids of packed documents; read only
  kCuSeqlens,   // [N+1] cumulative lengths: 0 and the end of each document
  kPairs,       // [2B]: start and end of the one document of each batch
  kBias,        // floats, shaped like dense: 0 open, -inf or the lowest finite number closed
  kBlockmap,    // shaped like dense, one element per block: 0 empty, 1 partial, 2 full; or bool
  kFlex,        // kv_num_blocks, kv_indices and other arrays: FlexAttention's BlockMask
  kFa4,         // mask_block_cnt, mask_block_idx and other arrays: FlashAttention-4
  kBsr,         // indptr and indices: block-sparse rows, as in FlashInfer
  kBits,        // [N] bytes: cells of [B,H,Q,K] in C order, cell i is bit i % 8 of byte i / 8
  kRuns,        // indptr, begin, end and shape: runs of open keys, for exchange without loss
  kMaskInfo,    // the arrays of a stored MaskInfo, an object of another library; read only
  kTokenTypes,  // [S] or [B,S] token types: for a step (-t tokens:SOURCE), not a mask
  kIndexLists,  // [Q,N], [B,Q,N] or [B,H,Q,N] keys that a query sees, and -1; also of blocks
  kFlashmask,   // [B,H,K,2 or 4] limits of queries for each key: FlashMask
  kFlashmaskCausal,  // [B,H,K,1 or 2] likewise, with causal=True
  kIntervals,        // [H,N,B*Q] ends of intervals of keys: cuDNN's flex attention
  kSlices,           // q_ranges, k_ranges and attn_type_map: MagiAttention
  kRequestBits,      // packed_custom_mask, qo_indptr, kv_indptr and mask_indptr: FlashInfer
  kTreeBits,         // tree_mask and tree_mask_lens: 64 bits for each token of draft trees
  kPaddedLengths,    // cu_seqlens_q, cu_seqlens_q_padded and those of keys: TransformerEngine
  kRaggedOffsets,    // seq_len_q, q_ragged_offset and those of keys: cuDNN
  kMaskFile,         // a file of steps and the arrays that they read (pipeline/mask_file.h)
};

/// The name of a kind on the command line: "dense", "padding", "key-padding", "segments",
/// "positions", "cu_seqlens", "pairs", "bias", "blockmap", "flex", "fa4", "bsr", "bits", "runs",
/// "mask-info", "token-types", "index-lists", "flashmask", "flashmask-causal", "intervals",
/// "slices", "request-bits", "tree-bits", "cu_seqlens-padded", "ragged-offsets", "mask".
std::string_view name(ArrayKind kind);
/// The names of the arrays without which a container does not hold this kind: "indptr, begin, end
/// and shape"; empty for kinds of one array, and for those of q and kv.
std::string array_names(ArrayKind kind);
/// The kind of several arrays for which has() knows all names; nothing if there is none.
std::optional<ArrayKind> kind_of_names(const std::function<bool(std::string_view)>& has);
/// The kind of this name; "-" and "_" are equivalent. Throws Error(kInvalidArgument) that lists the
/// names.
ArrayKind kind_from_name(std::string_view name);
/// All kinds, in the order of the enumeration.
std::span<const ArrayKind> all_kinds();
/// True for kinds that write_mask() writes: all but positions, mask-info, token-types and mask.
bool is_writable(ArrayKind kind);
/// True for kinds that have one array for queries and one for keys.
bool has_two_sides(ArrayKind kind);
/// True for kinds of several sequences end to end, which have one batch and head: slices,
/// request-bits, tree-bits, cu_seqlens-padded and ragged-offsets. Batches are laid end to end to
/// write them.
bool is_packed(ArrayKind kind);
/// True for flex, fa4 and bsr, whose arrays list blocks. Together with blockmap these are the kinds
/// of blocks.
bool lists_blocks(ArrayKind kind);

/// Which kinds an array of this dtype and shape may be, and whether its values are needed to choose
/// among them. Bits, block maps, limits and ends of intervals are never guessed: they
/// need --as. Ranks 0 and above 4 fit no
/// kind. A dense array of floats is a bias if its first nonzero number is negative.
/// - rank 3 and 4: dense.
/// - rank 2, Q == K: dense (other numbers than 0 and 1 are an error that suggests segments).
/// - rank 2, Q != K, floats: dense, padding or key-padding, which is refused as ambiguous.
/// - rank 2, Q != K, bools and integers: the values decide, see fitting_kinds.
/// - rank 1, integers: the values decide. Bool and floats: padding or key-padding, refused.
struct KindChoice {
  std::vector<ArrayKind> kinds;
  bool needs_values = false;
};
KindChoice kinds_of_shape(DType dtype, std::span<const Index> shape);

/// The kinds that the values of an array of rank 1 or 2 fit, of integers, or of bools of rank 2.
/// - Bools: dense; padding and key-padding too unless no token is true in all rows that have any,
///   as the sequences of a batch share some, wherever they are padded.
/// - All values 0 or 1: padding, key-padding, segments; for rank 2 also dense.
/// - Rank 2, other values: segments; index-lists too if no row names a key twice, -1 aside, unless
///   rows count up from 0, as positions do.
/// - Rank 1: segments; cu_seqlens if the array starts with 0 and never decreases, unless it has
///   equal neighbours and no step above 1 (0 0 1 1 2: nobody packs documents of 0 and 1 tokens);
///   pairs if it has an even number of entries and each pair is 0 <= start < end.
std::vector<ArrayKind> fitting_kinds(const Tensor& array);

/// True when every row counts up from 0 and starts again at 0, and some value is 2 or more. Such an
/// array has position ids; as segment ids it would make no sense.
bool looks_like_positions(const Tensor& array);

/// The remedies for an array that may be of any of `kinds`: read it as one of them.
std::vector<Remedy> read_as(std::span<const ArrayKind> kinds);

}  // namespace maskctl
