// Leaks between documents: how many, between which, and where.
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

/// Arrays as given by the user: [S] or [B,S]; [N+1] for cu_seqlens. `kv` is absent when one array
/// serves both sides.
struct DocumentSource {
  DocumentForm form = DocumentForm::kSegments;
  Tensor q;
  std::optional<Tensor> kv;
  std::int32_t pad_id = -1;  // for segment ids
  std::string text;          // how the user named them
};

/// Segment ids are taken as they are; with position ids, a document starts wherever they do not
/// continue (documents_from_positions); cu_seqlens number their documents from 0, and tokens after
/// the last are padding. Throws Error(kShape) when they do not fit the number of queries and keys,
/// Error(kInvalidArgument) for cu_seqlens that decrease or do not start with 0.
Documents documents_of(const DocumentSource& source, Index queries, Index keys);
/// The same for a mask, whose batches they must fit too: one on either side serves all. Messages
/// start with the text of the source.
Documents documents_of(const DocumentSource& source, const Mask& mask);
/// True when batches, queries and keys fit.
bool fits(const Documents& documents, const Mask& mask);

/// Open cells between one pair of documents of a batch, over all heads.
struct DocumentPair {
  Index batch = 0;
  std::int32_t q = 0, kv = 0;  // documents
  Index count = 0;
  Cell first;  // one of the cells, in the first stretch of queries and keys with any
};

inline constexpr Index kMostLeakPairs = 256;

/// Open cells counted by what they are (mask/documents.h).
struct Leaks {
  Index cross = 0;                  // leaks
  Index padding_queries = 0;        // their query is padding
  Index padding_keys = 0;           // only their key is padding
  std::optional<Cell> first;        // the cross cell with the lowest batch, head, query, key
  Index pair_count = 0;             // pairs of documents with cross cells
  std::vector<DocumentPair> pairs;  // by most cells, at most kMostLeakPairs
  bool pairs_complete = true;       // false: too many documents; only pairs of the first queries

  Index padding() const { return padding_queries + padding_keys; }
};

/// Counted on lazy planes: O(documents), no n^2 work. Batches broadcast as in numpy. Throws
/// Error(kShape) for batches or lengths that do not fit.
Leaks leaks(const Mask& mask, const Documents& documents);

}  // namespace maskctl
