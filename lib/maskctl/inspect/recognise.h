// Names for masks: the shortest chain of steps that explains what is open.
#pragma once

#include "maskctl/inspect/residue.h"
#include "maskctl/mask/mask.h"
#include "maskctl/mask/step.h"

namespace maskctl {

struct RecogniseOptions {
  /// Chains with more steps than this are not tried.
  Index max_steps = 4;
  /// Planes that neither few straight lines bound nor shared lists of keys make (documents in turn,
  /// dilation, block grids) are read cell by cell, and refused when they have more cells than this.
  Index max_cells = Index{1} << 31;
  /// Look for token types and block grids too: their places are guessed, which takes longest.
  bool guess = true;
};

/// What a mask is. `chain` applied to an all-open mask of the same shape gives `mask` but for
/// the cells of `residue`, which are counted by comparing the two, never assumed.
struct Recognised {
  Chain chain;  // empty: all open
  Residue residue;
  /// No rule tells much: the chain is the nearest one, and the statistics are the answer.
  bool irregular = false;
};

/// Full, empty, causal, window, chunk, documents, padding, prefix, sinks, global tokens, dilated,
/// token types, block grids and chains of up to max_steps of them, also inverted; heads and batches
/// that differ come as lists, or as heads: and batch: scopes. The answer is the shortest
/// description: numbers cost little, arrays their size, and a cell that the chain does not give its
/// coordinates. So a leak among documents is documents and one unexplained cell, not a rule bent
/// around it. Every candidate is verified on lazy planes: no n^2 work for structured masks.
/// Throws Error(kLimit) beyond max_cells.
Recognised recognise(const Mask& mask, const RecogniseOptions& options = {});

}  // namespace maskctl
