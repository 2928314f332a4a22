// Named properties that a mask should have, and the cells, rows or blocks that violate them.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "maskctl/inspect/check/leaks.h"
#include "maskctl/mask/block_size.h"
#include "maskctl/mask/cell.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl {

namespace expect {

/// Every open cell is also open after the chain (causal, window, chunk, doc, pad, ...) is applied
/// to an all-open mask. Violations are cells.
struct Within {
  Chain chain;
};
/// Every cell that the chain leaves open in an all-open mask is open. Violations are cells.
struct Covers {
  Chain chain;
};
/// Every open cell is also open in `mask`, which broadcasts over batches and heads. Violations are
/// cells.
struct SubsetOf {
  Mask mask;
};
/// The mask equals an all-open mask to which the chain is applied. Violations are the cells that
/// differ.
struct Equals {
  Chain chain;
};
/// No open cell joins two documents; padding does not count. Violations are cells.
struct NoLeak {
  DocumentSource documents;
};
/// Every query sees a key. Violations are rows.
struct NoEmptyRows {};
/// (q, k) is open if (k, q) is. Violations are open cells whose mirror cell is closed.
struct Symmetric {};
/// Every block is all open or all closed; blocks at the edge are cut to the mask. Violations are
/// blocks.
struct BlockAligned {
  BlockSize block;
};
/// Each row sees a key in the first non-empty block of its block row (row_safety.h). Violations are
/// rows.
struct RowSafe {
  BlockSize block;
};
/// min <= open cells / cells <= max. The count in the result is that of all open cells.
struct Density {
  std::optional<double> min, max;
};

using Rule = std::variant<Within, Covers, SubsetOf, Equals, NoLeak, NoEmptyRows, Symmetric,
                          BlockAligned, RowSafe, Density>;

}  // namespace expect

struct Expectation {
  expect::Rule rule;
  std::string text;  // as the user wrote it
};

struct ExpectationResult {
  std::string text;
  bool holds = false;
  Index count = 0;        // number of violations; for density, of open cells
  std::string_view unit;  // "cells", "rows", "blocks"
  /// The first violation. Key -1 means a whole row; a block is given by its first cell.
  std::optional<Cell> first;
  std::string detail;          // further explanation, or empty
  std::optional<Leaks> leaks;  // set only for NoLeak
};
/// The number of violations with its unit: "18 cells", "1 row".
std::string count_text(const ExpectationResult& result);

/// Checks an expectation, without n^2 work on structured masks. Throws Error(kShape) if the
/// question makes no sense for the shape of the mask: symmetry if queries and keys differ in
/// number, or chains and ids that do not fit. This is not a violation.
ExpectationResult check(const Mask& mask, const Expectation& expectation);

}  // namespace maskctl
