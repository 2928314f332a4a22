#include "app/reports/documents_report.h"

#include <fmt/format.h>

#include "app/reports/json_parts.h"
#include "maskctl/base/text.h"

namespace maskctl::app {
namespace {

std::string side_text(const char* side, std::int32_t id, std::int32_t pad_id) {
  return id == pad_id ? fmt::format("{} is padding", side)
                      : fmt::format("{} in document {}", side, id);
}

}  // namespace

CellDocuments documents_at(const Documents& documents, const Cell& cell) {
  return {ids_of_batch(documents.q, cell.batch)[as_size(cell.query)],
          ids_of_batch(documents.kv, cell.batch)[as_size(cell.key)], documents.pad_id};
}

std::string to_text(const CellDocuments& cell) {
  if (cell.query != cell.key) {
    return side_text("query", cell.query, cell.pad_id) + ", " +
           side_text("key", cell.key, cell.pad_id);
  }
  return cell.query == cell.pad_id ? "both are padding"
                                   : fmt::format("both in document {}", cell.query);
}

Json json_of(const std::optional<CellDocuments>& cell) {
  if (!cell) return nullptr;
  return {{"query", cell->query}, {"key", cell->key}, {"pad_id", cell->pad_id}};
}

std::string leaks_text(const Leaks& leaks) {
  std::string out = leaks.cross == 0 ? "none" : counted(leaks.cross, "cell");
  if (leaks.first) out += ", the first at " + cell_text(*leaks.first);
  if (leaks.padding() > 0) {
    out += fmt::format("; {} of padding open", counted(leaks.padding(), "cell"));
  }
  return out;
}

Json leak_counts_json(const std::optional<Leaks>& leaks) {
  if (!leaks) return nullptr;
  return {{"cross", leaks->cross},
          {"padding_queries", leaks->padding_queries},
          {"padding_keys", leaks->padding_keys},
          {"first", json_of(leaks->first)}};
}

}  // namespace maskctl::app
