// Named properties that a mask should have, and where it violates them.
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

/// Every open cell is also open when the chain is applied to an all-open mask: causal, window,
/// chunk, doc, pad, ... Counts cells.
struct Within {
  Chain chain;
};
/// Every open cell is open in `mask`, whose batches and heads broadcast. Counts cells.
struct SubsetOf {
  Mask mask;
};
/// The mask equals the chain applied to an all-open mask. Counts cells that differ.
struct Equals {
  Chain chain;
};
/// No open cell joins two documents; padding does not count. Counts cells.
struct NoLeak {
  DocumentSource documents;
};
/// Every query sees a key. Counts rows.
struct NoEmptyRows {};
/// (q, k) is open if (k, q) is. Counts open cells whose mirror cell is closed.
struct Symmetric {};
/// Every block is all open or all closed; blocks at the edge are cut to the mask. Counts blocks.
struct BlockAligned {
  BlockSize block;
};
/// Each row has a key in the first non-empty block of its block row (row_safety.h). Counts rows.
struct RowSafe {
  BlockSize block;
};
/// min <= open / cells <= max. Counts open cells.
struct Density {
  std::optional<double> min, max;
};

using Rule = std::variant<Within, SubsetOf, Equals, NoLeak, NoEmptyRows, Symmetric, BlockAligned,
                          RowSafe, Density>;

}  // namespace expect

struct Expectation {
  expect::Rule rule;
  std::string text;  // as the user wrote it
};

struct ExpectationResult {
  std::string text;
  bool holds = false;
  Index count = 0;        // counter-examples; for density, open cells
  std::string_view unit;  // "cells", "rows", "blocks"
  /// The first counter-example; key -1 means a whole row, and a block is named by its first cell.
  std::optional<Cell> first;
  std::string detail;          // further explanation, or empty
  std::optional<Leaks> leaks;  // only for no-leak
};
/// "18 cells", "1 row": how many counter-examples there are.
std::string count_text(const ExpectationResult& result);

/// Answers without n^2 work on structured masks. Throws Error(kShape) for questions that make no
/// sense for the shape: symmetric when queries and keys differ in number, chains and ids that do
/// not fit. Such a question is not a violation.
ExpectationResult check(const Mask& mask, const Expectation& expectation);

}  // namespace maskctl
