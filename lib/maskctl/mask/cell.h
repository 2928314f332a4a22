// One cell of a mask, and how it is written as text.
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

/// A cell as every report writes it: "batch 0, head 3, query 17, key 5". cell_from() reads this.
std::string cell_text(const Cell& cell);

/// The indices of a cell that a text gives; those it leaves out are not set.
struct CellParts {
  std::optional<Index> batch, head, query, key;
};

/// Reads a cell from the text of cell_text() or from what people type or copy: "b=0,h=3,q=17,k=5",
/// "query 17, key 5", the JSON of a cell, "17,5" or "17 5" (query, key), and "0 3 17 5" (a row of
/// np.argwhere). Numbers are those that whole_number_from() reads, not negative. Nothing for other
/// texts, and when a part is given twice.
std::optional<CellParts> cell_from(std::string_view text);

}  // namespace maskctl
