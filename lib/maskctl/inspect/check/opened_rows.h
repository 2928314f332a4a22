// Rows that see every key where the others do not: opened padding, and rows of causal masks;
// private to inspect.
#pragma once

#include <vector>

#include "maskctl/mask/mask.h"

namespace maskctl {

/// Ascending ranges of queries of a square plane; none of a plane that is wholly open.
struct OpenedRows {
  /// Rows at the first or last tokens, which no other rows see: padding whose empty rows were
  /// opened, as transformers does for SDPA. Rows at the end do not count if the row before them
  /// sees itself and its whole past: then they are causal, or a group. Nor do any where the others
  /// see later keys only.
  std::vector<Range> padding;
  /// Rows before the last token, where all other rows are causal.
  std::vector<Range> others;
};

OpenedRows opened_rows(const PlanePtr& plane);

/// One for each of mask.distinct().
std::vector<OpenedRows> opened_rows(const Mask& mask);

/// The mask with its opened padding closed; `opened` is of this mask.
Mask without_opened_padding(const Mask& mask, const std::vector<OpenedRows>& opened);

}  // namespace maskctl
