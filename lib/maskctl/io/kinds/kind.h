// The array forms of a mask: their names, and which an array fits.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/base/error.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl {

/// How an array says which cells are open.
enum class ArrayKind : std::uint8_t {
  kDense,       // [Q,K], [B,Q,K] or [B,H,Q,K] of bool or 0 / 1
  kPadding,     // [S] or [B,S]: query and key both valid
  kKeyPadding,  // [S] or [B,S]: key valid
  kSegments,    // [S] or [B,S] ids: equal and not the pad id
  kPositions,   // [S] or [B,S] position ids; read only
  kCuSeqlens,   // [N+1]: 0 and the end of each document
  kPairs,       // [2B]: start and end of each batch
  kBias,        // as dense, of floats: 0 open, -inf or the lowest finite number closed
  kBlockmap,    // as dense, one cell per block: 0 empty, 1 partial, 2 full; or bool
  kFlex,        // arrays kv_num_blocks, kv_indices and others: BlockMask of FlexAttention
  kFa4,         // arrays mask_block_cnt, mask_block_idx and others: FlashAttention-4
  kBsr,         // arrays indptr, indices: block-sparse rows, as of FlashInfer
  kBits,        // [N] bytes: the cells of [B,H,Q,K] in C order, bit i % 8 of byte i / 8
  kRuns,        // arrays indptr, begin, end, shape: the lossless exchange form
  kMaskInfo,    // the arrays of a stored MaskInfo, an object of another library; read only
  kTokenTypes,  // [S] or [B,S] types; for a step (-t tokens:SOURCE), not a mask
};

/// "dense", "padding", "key-padding", "segments", "positions", "cu_seqlens", "pairs", "bias",
/// "blockmap", "flex", "fa4", "bsr", "bits", "runs", "mask-info", "token-types".
std::string_view name(ArrayKind kind);
/// "-" and "_" are equivalent. Throws Error(kInvalidArgument) with the list of names.
ArrayKind kind_from_name(std::string_view name);
/// All of them, in the order of the enumeration.
std::span<const ArrayKind> all_kinds();
/// True for kinds in which a mask can be written: all but positions, mask-info and token-types.
bool is_writable(ArrayKind kind);
/// True for kinds with one array for the queries and one for the keys.
bool has_two_sides(ArrayKind kind);
/// True for flex, fa4 and bsr, whose arrays list blocks; with blockmap, the kinds of blocks.
bool lists_blocks(ArrayKind kind);

/// The kinds that an array of this dtype and rank may be, whatever its values, and whether the
/// values are needed to choose. Ranks 0 and above 4 fit nothing. Bits and block maps are never
/// guessed (--as). A dense array of floats whose first nonzero number is negative is a bias.
/// - rank 3 and 4: dense.
/// - rank 2, Q == K: dense (numbers other than 0 and 1 are then an error that suggests segments).
/// - rank 2, Q != K, bool or float: dense, padding, key-padding: refused.
/// - rank 2, Q != K, integers: by their values, see fitting_kinds.
/// - rank 1: by the values; bool and floats fit padding and key-padding: refused.
struct KindChoice {
  std::vector<ArrayKind> kinds;
  bool needs_values = false;
};
KindChoice kinds_of_shape(DType dtype, std::span<const Index> shape);

/// The kinds that an integer array of rank 1 or 2 fits.
/// - All values 0 or 1: padding, key-padding, segments; dense too if rank 2.
/// - Rank 2, other values: segments.
/// - Rank 1: segments; cu_seqlens when it starts with 0 and never decreases, unless it has repeats
///   and only steps of at most 1 (0 0 1 1 2: nobody packs documents of 0 and 1 tokens); pairs when
///   it has an even number of entries and each pair rises from at least 0.
std::vector<ArrayKind> fitting_kinds(const Tensor& array);

/// True when every row counts up from 0 and starts over at 0, reaching 2 or more somewhere:
/// position ids, which read as segments would make no sense.
bool looks_like_positions(const Tensor& array);

/// The remedies of an error about an array that could be of any of `kinds`.
std::vector<Remedy> read_as(std::span<const ArrayKind> kinds);

}  // namespace maskctl
