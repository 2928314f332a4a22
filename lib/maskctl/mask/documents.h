// Packed documents, and the open cells of a mask that are leaks between documents or padding.
#pragma once

#include <cstdint>
#include <span>

#include "maskctl/mask/mask.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl {

/// The document number of each token, [1 or B, S] int32. A token whose number is pad_id is padding:
/// it is in no document.
struct Documents {
  Tensor q, kv;
  std::int32_t pad_id = -1;
};

/// The ids of one batch; if `ids` has a single row, that row for every batch.
std::span<const std::int32_t> ids_of_batch(const Tensor& ids, Index batch);

/// What an open cell is, given the documents of its query and its key. kLeak: they are in two
/// different documents. Cells with a padding token are not leaks; if both tokens are padding, the
/// cell is kPaddingQuery.
enum class DocumentCell : std::uint8_t { kInside, kLeak, kPaddingQuery, kPaddingKey };
constexpr DocumentCell document_cell(std::int32_t query, std::int32_t key, std::int32_t pad_id) {
  if (query == pad_id) return DocumentCell::kPaddingQuery;
  if (key == pad_id) return DocumentCell::kPaddingKey;
  return query == key ? DocumentCell::kInside : DocumentCell::kLeak;
}

/// Masks of the open cells of a mask, from which the cells of each DocumentCell can be computed:
/// leaks, for example, are `real` without `same`.
struct DocumentCells {
  Mask open;        // all open cells
  Mask real_query;  // open cells whose query is in a document
  Mask real;        // cells of real_query whose key is in a document too
  Mask same;        // all pairs within one document, open or not

  Mask leaks() const;
  Mask padding_queries() const;
  Mask padding_keys() const;
  /// The open cells whose query or key is padding.
  Mask padding() const;
};
/// Takes O(documents) for lazy planes, never O(n^2). Batches broadcast as in numpy. Throws
/// Error(kShape) for batches or lengths that do not fit.
DocumentCells document_cells(const Mask& mask, const Documents& documents);

/// Masks that are open where the query (or the key) is in a document: [B or 1, 1, Q, K].
Mask real_queries(const Documents& documents, Index keys);
Mask real_keys(const Documents& documents, Index queries);

}  // namespace maskctl
