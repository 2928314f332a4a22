// Packed documents, and which open cells are leaks between them or padding.
#pragma once

#include <cstdint>
#include <span>

#include "maskctl/mask/mask.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl {

/// A document number for each token, [1 or B, S] int32; tokens with pad_id are in no document.
struct Documents {
  Tensor q, kv;
  std::int32_t pad_id = -1;
};

/// The ids of one batch; a single row serves all batches.
std::span<const std::int32_t> ids_of_batch(const Tensor& ids, Index batch);

/// What an open cell is, by the documents of its query and its key. A leak joins two different
/// documents. Padding is in none: its cells are counted separately, and a cell of two padding
/// tokens counts as one of a padding query.
enum class DocumentCell : std::uint8_t { kInside, kLeak, kPaddingQuery, kPaddingKey };
constexpr DocumentCell document_cell(std::int32_t query, std::int32_t key, std::int32_t pad_id) {
  if (query == pad_id) return DocumentCell::kPaddingQuery;
  if (key == pad_id) return DocumentCell::kPaddingKey;
  return query == key ? DocumentCell::kInside : DocumentCell::kLeak;
}

/// All open cells of a mask, sorted by DocumentCell.
struct DocumentCells {
  Mask open;        // all open cells
  Mask real_query;  // open cells whose query is in a document
  Mask real;        // cells of real_query whose key is in a document too
  Mask same;        // all pairs within one document, open or not

  Mask leaks() const;
  Mask padding_queries() const;
  Mask padding_keys() const;
  /// Open cells with a padding query or a padding key.
  Mask padding() const;
};
/// On lazy planes: O(documents), no n^2 work. Batches broadcast as in numpy. Throws Error(kShape)
/// for batches or lengths that do not fit.
DocumentCells document_cells(const Mask& mask, const Documents& documents);

/// Open where the query (or key) is in a document: [B or 1, 1, Q, K].
Mask real_queries(const Documents& documents, Index keys);
Mask real_keys(const Documents& documents, Index queries);

}  // namespace maskctl
