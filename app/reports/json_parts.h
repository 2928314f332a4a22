// Helpers that all JSON reports share.
#pragma once

#include <optional>

#include "app/reports/json_value.h"
#include "maskctl/inspect/diff/diff.h"
#include "maskctl/mask/mask.h"

namespace maskctl::app {

inline Json extents(const Mask& mask) {
  return Json::array({mask.batch(), mask.heads(), mask.queries(), mask.keys()});
}

inline Json ratio(Index part, Index whole) {
  if (whole == 0) return nullptr;
  return static_cast<double>(part) / static_cast<double>(whole);
}

inline Json json_of(const Cell& cell) {
  return {{"batch", cell.batch}, {"head", cell.head}, {"query", cell.query}, {"key", cell.key}};
}
inline Json json_of(const std::optional<Cell>& cell) {
  return cell ? json_of(*cell) : Json(nullptr);
}

/// The listed cells, each as [batch, head, query, key].
inline Json json_of(const Residue& residue) {
  Json out = Json::array();
  for (const Cell& cell : residue.first) {
    out.push_back({cell.batch, cell.head, cell.query, cell.key});
  }
  return out;
}

/// The value of "cause" in maskctl.diff/1.
struct CauseReport;
Json cause_json(const CauseReport& report);

/// The first cell that differs, and the name (`a` or `b`) of the mask in which it is open; null if
/// the masks are equal.
inline Json first_difference(const MaskDiff& diff, const char* a, const char* b) {
  Json out = json_of(diff.first);
  if (diff.first) out["open_in"] = diff.first_in_a ? a : b;
  return out;
}

/// Nested arrays that map [batch][head] to the index of the distinct plane.
inline Json plane_numbers(const Mask& mask) {
  Json out = Json::array();
  for (Index b = 0; b < mask.batch(); ++b) {
    Json heads = Json::array();
    for (Index h = 0; h < mask.heads(); ++h) heads.push_back(mask.index_of(b, h));
    out.push_back(std::move(heads));
  }
  return out;
}

}  // namespace maskctl::app
