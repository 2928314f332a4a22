// One cell of a mask, and the one way in which it is written.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "maskctl/base/index.h"

namespace maskctl {

struct Cell {
  Index batch = 0, head = 0, query = 0, key = 0;
  friend bool operator==(const Cell&, const Cell&) = default;
};

/// "batch 0, head 3, query 17, key 5": how every report writes a cell. cell_from() reads it.
std::string cell_text(const Cell& cell);

/// The parts of a cell that a text names.
struct CellParts {
  std::optional<Index> batch, head, query, key;
};

/// Reads what cell_text() writes and what people type or copy: "b=0,h=3,q=17,k=5", the JSON of a
/// cell, "query 17, key 5"; without names "17,5" or "17 5" (query, key), and all four as rows of
/// np.argwhere have them, "0 3 17 5". Numbers as whole_number_from(), not negative. Nothing for any
/// other text, or a part that is said twice.
std::optional<CellParts> cell_from(std::string_view text);

}  // namespace maskctl
