// Named properties that a mask should have, and where it does not.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "maskctl/inspect/leaks.h"
#include "maskctl/mask/block_size.h"
#include "maskctl/mask/cell.h"
#include "maskctl/mask/step.h"

namespace maskctl {

namespace expect {

/// Every open cell is one that the chain leaves open of an all-open mask: causal, window, chunk,
/// doc, pad, ... Counts cells.
struct Within {
  Chain chain;
};
/// Every open cell is open in `mask`, whose batches and heads broadcast. Counts cells.
struct SubsetOf {
  Mask mask;
};
/// The mask is what the chain makes of an all-open mask. Counts cells that differ.
struct Equals {
  Chain chain;
};
/// No open cell joins two documents; cells of padding do not count. Counts cells.
struct NoLeak {
  DocumentSource documents;
};
/// Every query sees a key. Counts rows.
struct NoEmptyRows {};
/// (q, k) is open where (k, q) is. Counts cells whose mirror is closed.
struct Symmetric {};
/// Every block is all open or all closed; those at the edge are cut to the mask. Counts blocks.
struct BlockAligned {
  BlockSize block;
};
/// Each row has a key in the first block of its block row that is not empty (row_safety.h). Counts
/// rows.
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
  std::string text;  // as it was asked for
};

struct Expected {
  std::string text;
  bool holds = false;
  Index count = 0;        // of counter-examples; of open cells for density
  std::string_view unit;  // "cells", "rows", "blocks"
  /// The first counter-example; key -1 stands for a whole row, a block is named by its first cell.
  std::optional<Cell> first;
  std::string detail;          // more to say, or empty
  std::optional<Leaks> leaks;  // of no-leak
};

/// Answers without n^2 work on structured masks. Throws Error(kShape) for what cannot be asked of
/// a mask of this shape: symmetric where queries and keys differ in number, chains and ids that do
/// not fit. Not comparable is not "violated".
Expected check(const Mask& mask, const Expectation& expectation);

}  // namespace maskctl
