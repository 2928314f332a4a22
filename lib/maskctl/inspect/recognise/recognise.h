// Names masks: finds the shortest chain of steps that explains the open cells.
#pragma once

#include "maskctl/inspect/recognise/residue.h"
#include "maskctl/mask/mask.h"
#include "maskctl/mask/steps/named_array.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl {

struct RecogniseOptions {
  /// Chains with more steps than this are not tried.
  Index max_steps = 4;
  /// Planes bounded by few straight lines, or made of shared lists of keys (interleaved documents,
  /// dilation, block grids), may have any size. All others are read cell by cell and are refused if
  /// they have more cells than this.
  Index max_cells = Index{1} << 31;
  /// Also look for token types and block grids. This takes the longest, as their positions must be
  /// guessed.
  bool guess = true;
};

/// The steps that a mask is made of. Applied to an all-open mask of the same shape, `chain` gives
/// the mask except for the cells of `residue`, which are counted by comparing the two masks.
struct Recognised {
  Chain chain;  // empty: all open
  Residue residue;
  /// True if no rule explains much of the mask: `chain` is only the closest one, and statistics
  /// describe the mask better.
  bool irregular = false;
};

/// Finds full, empty, causal, window, chunk, documents, padding, prefix, sinks, global tokens,
/// dilated, token types, block grids and chains of up to max_steps of them, also inverted; then
/// rows, columns and rectangles that are open or closed as exceptions. Heads and batches that
/// differ are described by lists of numbers, or by heads: and batch: steps. Of all candidates, the
/// one with the shortest description is returned: a number costs little, an array its size, and a
/// cell in which the chain differs from the mask its coordinates. So a leak between documents is
/// reported as documents and one unexplained cell, or as documents and a rectangle opened at the
/// end; no rule is distorted to fit it. Candidates are compared with the mask as lazy planes,
/// without n^2 work for structured masks. Throws Error(kLimit) beyond max_cells.
Recognised recognise(const Mask& mask, const RecogniseOptions& options = {});

/// The position of each query and each key: whole numbers from 0, [S] or [B,S].
struct GivenPositions {
  NamedArray q, kv;
};

/// Whether no position recurs on a side of some batch entry: packed sequences start anew, so these
/// are the tokens of one.
bool is_one_sequence(const GivenPositions& given);

/// recognise() for tokens at given positions: a step `at` them, where causal, a window, chunks or
/// first keys there give the mask exactly. Where they do not, or where tokens follow each other,
/// the steps are found without them. Throws Error(kShape, kInvalidArgument) for positions that are
/// not of the mask.
Recognised recognise(const Mask& mask, const GivenPositions& given,
                     const RecogniseOptions& options = {});

/// Removes the steps that open or close rows, columns and rectangles; their cells become residue.
/// Keeps squares opened on the diagonal: tokens that see each other, such as those of an image.
Recognised regions_as_cells(Recognised found, const Mask& mask);

/// Where more than a twentieth of the open (or closed) cells remain unexplained, or several arrays
/// leave some, no rule makes the mask: it becomes `irregular`, and arrays, which were only guessed,
/// make way for the nearest chain without any, or, where that leaves more than half of the open (or
/// closed) cells, for one that says nothing. Returns all other descriptions as they are.
Recognised without_guesses(Recognised found, const Mask& mask);
/// Whether the steps open all cells of a mask, or none, whatever its shape.
bool says_nothing(const Chain& chain);

}  // namespace maskctl
