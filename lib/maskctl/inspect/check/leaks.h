// Leaks between documents: how many there are, between which documents, and where.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "maskctl/mask/cell.h"
#include "maskctl/mask/documents.h"

namespace maskctl {

/// The array that says which token belongs to which document.
enum class DocumentForm : std::uint8_t { kSegments, kPositions, kCuSeqlens };
/// "segment ids", "position ids", "cu_seqlens": the names used in messages.
std::string_view name(DocumentForm form);

/// Arrays as the user gave them: [S] or [B,S], or [N+1] for cu_seqlens. `kv` is absent if one array
/// serves queries and keys.
struct DocumentSource {
  DocumentForm form = DocumentForm::kSegments;
  Tensor q = {};
  std::optional<Tensor> kv = {};
  std::int32_t pad_id = -1;  // the id of padding, for segment ids
  std::string text = {};     // how the user named the arrays
  /// Flags [S] or [B,S], nonzero for tokens and 0 for padding, which is in no document then: those
  /// of queries and keys or, with `kv_real`, those of the queries. More flags than queries are
  /// those of the keys; the last queries are then taken for tokens, all of which must be real.
  /// Where `q` has no elements, all tokens that are no padding are one document.
  std::optional<Tensor> real = {};
  std::optional<Tensor> kv_real = {};
  std::string real_text = {};  // how the user named the flags
};

/// The documents that the arrays describe. Segment ids are taken as they are. With position ids, a
/// document starts wherever they do not continue (documents_from_positions). Documents of
/// cu_seqlens are numbered from 0, and tokens after the last one are padding. Throws Error(kShape)
/// if the arrays do not fit the number of queries and keys, and Error(kInvalidArgument) for
/// cu_seqlens that decrease or do not start with 0, and for flags that do not say which queries are
/// padding.
Documents documents_of(const DocumentSource& source, Index queries, Index keys);
/// documents_of() for a mask. The arrays must also fit its batch entries; an extent of 1, in the
/// arrays or in the mask, broadcasts. Error messages start with the text of the source.
Documents documents_of(const DocumentSource& source, const Mask& mask);
/// Whether the batch entries, queries and keys of both fit each other.
bool fits(const Documents& documents, const Mask& mask);

/// The open cells between one pair of documents in a batch entry, over all heads.
struct DocumentPair {
  Index batch = 0;
  std::int32_t q = 0, kv = 0;  // the ids of the two documents
  Index count = 0;
  Cell first;  // one of these cells, in the first runs of queries and keys that have any
};

inline constexpr Index kMostLeakPairs = 256;

/// Open cells, counted by how they relate to documents (mask/documents.h).
struct Leaks {
  Index cross = 0;                  // leaks: cells between two documents
  Index padding_queries = 0;        // cells whose query is padding
  Index padding_keys = 0;           // cells of which only the key is padding
  std::optional<Cell> first;        // the first leak in the order of batch, head, query, key
  Index pair_count = 0;             // pairs of documents with leaks
  std::vector<DocumentPair> pairs;  // those with the most cells first, at most kMostLeakPairs
  /// False if there are too many documents: then only pairs in the first batch entries and planes
  /// are counted and listed, perhaps none.
  bool pairs_complete = true;

  Index padding() const { return padding_queries + padding_keys; }
};

/// Counts leaks. On lazy planes it takes O(documents) time, no n^2 work. Batches broadcast as in
/// numpy. Throws Error(kShape) for batches that do not fit; the numbers of queries and keys must
/// fit.
Leaks leaks(const Mask& mask, const Documents& documents);

}  // namespace maskctl
