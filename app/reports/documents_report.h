// Describes the documents of a cell, and the leaks of a mask.
#pragma once

#include <optional>
#include <string>

#include "app/reports/json_value.h"
#include "maskctl/inspect/check/leaks.h"
#include "maskctl/mask/cell.h"

namespace maskctl::app {

/// The ids of the documents that the query and the key of a cell belong to.
struct CellDocuments {
  std::int32_t query = 0, key = 0;
  std::int32_t pad_id = -1;

  bool is_leak() const { return document_cell(query, key, pad_id) == DocumentCell::kLeak; }
};
CellDocuments documents_at(const Documents& documents, const Cell& cell);
/// For example "query in document 3, key in document 1", "both in document 2", or "query in
/// document 3, key is padding".
std::string to_text(const CellDocuments& cell);
/// The JSON of a cell's documents; null if `cell` is empty.
Json json_of(const std::optional<CellDocuments>& cell);

/// "12 cells, the first at batch 0, head 0, query 3, key 9; 4 cells of padding open", or "none".
std::string leaks_text(const Leaks& leaks);
/// The counts of leaks; null if `leaks` is empty.
Json leak_counts_json(const std::optional<Leaks>& leaks);

}  // namespace maskctl::app
