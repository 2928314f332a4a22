// Finds rows that see every key while others do not: opened padding, and rows of causal masks;
// private to inspect.
#pragma once

#include <vector>

#include "maskctl/mask/mask.h"

namespace maskctl {

/// The rows of a square plane that see every key, as ascending ranges; none if the whole plane is
/// open.
struct OpenedRows {
  /// Rows at the first or last tokens that no other rows see: padding whose empty rows were opened,
  /// as transformers does for SDPA. Rows at the end do not count if the row before them sees itself
  /// and nearly its whole past: then they are causal, or a group. No rows count if the other rows
  /// see later keys and no earlier ones, or nothing.
  std::vector<Range> padding;
  /// Rows that see every key, but are not `padding` and not the row of the last token. Only set if
  /// all other rows are causal.
  std::vector<Range> others;
};

OpenedRows opened_rows(const PlanePtr& plane);

/// The opened rows of each of mask.distinct(). `tokens`, if given, is open in rows that are
/// declared to be tokens and not padding; it broadcasts over batches and heads.
std::vector<OpenedRows> opened_rows(const Mask& mask, const Mask* tokens = nullptr);

/// The mask with its opened padding closed. `opened`: opened_rows(mask).
Mask without_opened_padding(const Mask& mask, const std::vector<OpenedRows>& opened);

}  // namespace maskctl
