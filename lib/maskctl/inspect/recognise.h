// Names for masks: the shortest chain of steps that explains what is open.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "maskctl/mask/mask.h"
#include "maskctl/mask/step.h"

namespace maskctl {

/// One cell of a mask.
struct Cell {
  Index batch = 0, head = 0, query = 0, key = 0;
  friend bool operator==(const Cell&, const Cell&) = default;
};

struct RecogniseOptions {
  /// Chains with more steps than this are not tried.
  Index max_steps = 4;
  /// Planes that neither few straight lines bound nor shared lists of keys make (documents in turn,
  /// dilation, block grids) are read cell by cell, and refused when they have more cells than this.
  Index max_cells = Index{1} << 31;
};

/// What a mask is. `chain` applied to an all-open mask of the same shape gives `mask` but for
/// `unexplained` cells; 0 is proven by comparing the two, never assumed.
struct Recognised {
  Chain chain;  // empty: all open
  Index unexplained = 0;
  std::optional<Cell> first_unexplained;
  /// Nothing fits better than counting: the chain is empty and the statistics are the answer.
  bool irregular = false;
};

/// Full, empty, causal, window, chunk, documents, padding, prefix, sinks, global tokens, dilated,
/// token types, block grids and chains of up to max_steps of them; heads and batches that differ
/// come as heads: and batch: scopes. Every candidate is verified on lazy planes: no n^2 work for
/// structured masks.
/// Throws Error(kLimit) beyond max_cells.
Recognised recognise(const Mask& mask, const RecogniseOptions& options = {});

}  // namespace maskctl
