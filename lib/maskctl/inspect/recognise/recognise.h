// Names masks: finds the shortest chain of steps that explains the open cells.
#pragma once

#include "maskctl/inspect/recognise/residue.h"
#include "maskctl/mask/mask.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl {

struct RecogniseOptions {
  /// Chains with more steps than this are not tried.
  Index max_steps = 4;
  /// Planes bounded by few straight lines, or made of shared lists of keys (interleaved documents,
  /// dilation, block grids), have any size. All others are read cell by cell, and refused when they
  /// have more cells than this.
  Index max_cells = Index{1} << 31;
  /// Also look for token types and block grids. Their positions are guessed, which takes the
  /// longest.
  bool guess = true;
};

/// What a mask is. `chain` applied to an all-open mask of the same shape gives `mask` except for
/// the cells of `residue`, which are counted by comparing the two and never assumed.
struct Recognised {
  Chain chain;  // empty: all open
  Residue residue;
  /// No rule explains much: the chain is only the nearest one, and statistics say more.
  bool irregular = false;
};

/// Finds full, empty, causal, window, chunk, documents, padding, prefix, sinks, global tokens,
/// dilated, token types, block grids and chains of up to max_steps of them, also inverted; then
/// rows, columns and rectangles that are open or closed beside. Heads and batches that differ are
/// given as lists, or as heads: and batch: scopes. The answer has the shortest description: numbers
/// cost little, an array its size, a cell that the chain misses its coordinates. So a leak among
/// documents comes out as documents and one unexplained cell, or a rectangle that is opened at the
/// end, not as a rule bent around it. Every candidate is verified on lazy planes: no n^2 work for
/// structured masks. Throws Error(kLimit) beyond max_cells.
Recognised recognise(const Mask& mask, const RecogniseOptions& options = {});

/// What was recognised without the rows, columns and rectangles at the end of the chain, whose
/// cells become residue. Squares on the diagonal stay: tokens that see each other, such as those of
/// an image.
Recognised regions_as_cells(Recognised found, const Mask& mask);

}  // namespace maskctl
