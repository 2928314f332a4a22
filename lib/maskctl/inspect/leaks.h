// Pairs that cross documents: open cells whose query and key do not belong together.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "maskctl/mask/cell.h"
#include "maskctl/mask/mask.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl {

/// What says which token belongs to which document.
enum class DocumentForm : std::uint8_t { kSegments, kPositions, kCuSeqlens };
/// "segment ids", "position ids", "cu_seqlens": how messages call them.
std::string_view name(DocumentForm form);

/// Arrays as they are given; [S] or [B,S], and [N+1] for cu_seqlens. `kv` is absent where one array
/// serves both sides.
struct DocumentSource {
  DocumentForm form = DocumentForm::kSegments;
  Tensor q;
  std::optional<Tensor> kv;
  std::int32_t pad_id = -1;  // of segment ids
  std::string text;          // what named them
};

/// A document number for each token, [1 or B, S] int32; pad_id is padding, which is in none.
struct Documents {
  Tensor q, kv;
  std::int32_t pad_id = -1;
};

/// The ids of one batch; one row may serve all.
std::span<const std::int32_t> ids_of_batch(const Tensor& ids, Index batch);

/// Segment ids are taken as they are; position ids start a document wherever they do not go on
/// (documents_from_positions); cu_seqlens number their documents from 0, tokens past the last are
/// padding. Throws Error(kShape) where they do not fit this many queries and keys,
/// Error(kInvalidArgument) for cu_seqlens that fall or do not start with 0.
Documents documents_of(const DocumentSource& source, Index queries, Index keys);

/// Open cells of one pair of documents of a batch, over all heads.
struct DocumentPair {
  Index batch = 0;
  std::int32_t q = 0, kv = 0;  // documents
  Index count = 0;
  Cell first;  // one of the cells, in the first stretch of queries and keys that holds any
};

inline constexpr Index kMostLeakPairs = 256;

struct Leaks {
  Index cross = 0;                  // open cells of a query and a key in different documents
  Index padding_queries = 0;        // open cells whose query is padding
  Index padding_keys = 0;           // open cells of a query in a document and a key that is padding
  std::optional<Cell> first;        // of the cross cells: lowest batch, head, query, key
  Index pair_count = 0;             // pairs of documents with such cells
  std::vector<DocumentPair> pairs;  // most cells first, at most kMostLeakPairs of them
  bool pairs_complete = true;       // false: too many documents; pairs of the first queries only
};

/// Counted on lazy planes, mask AND NOT equal ids: O(documents), no n^2 work. Batches broadcast as
/// numpy does. Throws Error(kShape) for batches or lengths that do not fit.
Leaks leaks(const Mask& mask, const Documents& documents);

/// The open cells whose query is in a document, those of them whose key is in one too, and the
/// pairs of one document, open or not.
struct LeakMasks {
  Mask real_query, real, same;
};
LeakMasks leak_masks(const Mask& mask, const Documents& documents);
/// Open where the query (or key) is in a document: [B or 1, 1, Q, K].
Mask real_queries(const Documents& documents, Index keys);
Mask real_keys(const Documents& documents, Index queries);

}  // namespace maskctl
