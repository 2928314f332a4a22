// Masks of requests that lie end to end, each with queries and keys of its own, as servers batch
// them: bits by request, bits of draft trees, and real beside padded lengths or offsets.
#pragma once

#include <optional>
#include <vector>

#include "maskctl/mask/arrays/nearest.h"
#include "maskctl/mask/mask.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl {

/// Bits by request: request r has the queries [qo[r], qo[r+1]) and the keys [kv[r], kv[r+1]); its
/// cells in C order are bits from byte mask[r] on, lowest first, and nothing else is open. qo, kv
/// and mask are [R+1], and packed is uint8. Without `mask`, requests follow each other byte by
/// byte. Source: FlashInfer 0.6.18 (fb28d724): flashinfer/quantization/packbits.py
/// (segment_packbits) and include/flashinfer/attention/variants.cuh. plan() of
/// flashinfer/prefill.py packs custom_mask with such offsets; where it is given packed_custom_mask,
/// its offsets count cells, which its kernel takes for bytes: right for one request only.
struct RequestBits {
  Tensor packed, qo, kv;
  std::optional<Tensor> mask;
};
/// The mask of bits by request, of one batch and head; the extents are the last entries unless
/// given. Throws Error(kShape) or Error(kFormat) for arrays that do not fit each other, naming the
/// request, and for bits that are set behind the cells of a request; Error(kLimit) when the runs of
/// keys take more than max_bytes.
Mask mask_from_request_bits(const RequestBits& bits, std::optional<Index> queries,
                            std::optional<Index> keys, Index max_bytes);
/// Bits of a mask of one batch and head, a request for each of its documents (document_ranges()).
/// Exact. Throws Error(kLimit).
RequestBits request_bits_from_mask(const Mask& mask, Index max_bytes);

/// Bits of draft trees: tree t has the tokens [lens[t], lens[t+1]), at most 64; bit j of rows[i],
/// an integer of 64 bits, opens the j-th token of the tree for token i. The first `prefix` keys,
/// which kernels open for all tokens, have no bits. Source: vllm-project/flash-attention#81,
/// flash_fwd_params_tree (tree_mask, tree_mask_lens): its headers were read, not its kernel; that
/// the lowest bit is the first token is not confirmed.
struct TreeBits {
  Tensor rows, lens;
  Index prefix = 0;
};
/// The mask of draft trees, of one batch and head, with `prefix` keys more than queries. Throws
/// Error(kShape) or Error(kFormat) for arrays that do not fit each other, trees above 64 tokens, a
/// negative prefix, and bits behind the last token; Error(kLimit) for more keys than masks have.
Mask mask_from_tree_bits(const TreeBits& bits);
/// The trees that come nearest to a mask of one batch and head, behind a prefix of the keys that it
/// has more than queries: the fewest tokens that see only each other; of more than 64, the first 64
/// are a tree, and so on. Throws Error(kShape) for fewer keys than queries.
struct NearestTrees {
  TreeBits bits;
  Mask mask;
};
NearestTrees nearest_tree_bits(const Mask& mask);

/// Real and padded cumulative lengths, each [N+1]: document i has the queries from q_padded[i] on,
/// q[i+1] - q[i] of them, and keys likewise; the tokens up to q_padded[i+1] are padding.
/// Source: TransformerEngine 2.20.0.dev0 (d0067d0), DotProductAttention.forward, qkv_format "thd":
/// cu_seqlens_q, cu_seqlens_kv, cu_seqlens_q_padded, cu_seqlens_kv_padded.
struct PaddedLengths {
  Tensor q, kv, q_padded, kv_padded;
};
/// The mask of these documents, without causal. Throws Error(kInvalidArgument) as
/// mask_from_cu_seqlens(), and for a document that is longer than its place.
Mask mask_from_padded_lengths(const PaddedLengths& lengths, std::optional<Index> queries,
                              std::optional<Index> keys);
/// The number of the document of each token, [1,S] int32; -1 for padding. The lengths make a mask.
struct PaddedDocuments {
  Tensor q, kv;
};
PaddedDocuments documents_of_padded(const PaddedLengths& lengths, Index queries, Index keys);
struct NearestLengths {
  PaddedLengths lengths;
  Mask mask;
};
/// The lengths that come nearest to a mask of one batch and head: the documents of
/// nearest_cu_seqlens(), where tokens between documents are padding of the one before them.
NearestLengths nearest_padded_lengths(const Mask& mask);

/// Offsets of a packed batch of B sequences: sequence b has q_lens[b] queries, from element q[b] of
/// the queries' array on, whose tokens have q_elements elements each, and keys likewise; the tokens
/// up to q[b + 1] are padding. Lengths are [B] or [B,1,1,1], offsets [B+1] or [B+1,1,1,1].
/// Source: cudnn-frontend (90311ac), docs/operations/Attention.md: "Packed layout", seq_len_q,
/// seq_len_kv and set_ragged_offset(), in elements, not bytes; the last is the end of the array.
/// With a multiplier of offsets (cudnn-frontend 1.25), a token has as many fewer elements.
struct RaggedOffsets {
  Tensor q_lens, k_lens, q, k;
  Index q_elements, k_elements;
};
/// The lengths that the offsets say. Throws Error(kShape) or Error(kInvalidArgument) for arrays
/// that do not fit each other and for offsets inside a token, naming array and entry.
PaddedLengths lengths_of_ragged(const RaggedOffsets& ragged);
/// Offsets in tokens: as if a token had one element.
RaggedOffsets ragged_of_lengths(const PaddedLengths& lengths);

/// The values as an array [N] of int32, and of int64.
Tensor int32_list(const std::vector<Index>& values);
Tensor int64_list(const std::vector<Index>& values);

/// The batch entries of a mask end to end, as one batch and head: any head opens a cell. Throws
/// Error(kLimit) when the runs of keys of several entries take more than max_bytes.
Mask end_to_end(const Mask& mask, Index max_bytes);
/// The reverse: batch entry b of the result has the queries [b * queries, (b + 1) * queries) and
/// keys likewise. Throws Error(kFormat) for an open cell between two entries, Error(kShape) for
/// other extents.
Mask batches_of(const Mask& packed, Index batch, Index queries, Index keys);

}  // namespace maskctl
