// Two masks compared: how many cells differ, where, and why.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "maskctl/inspect/residue.h"
#include "maskctl/mask/cell.h"
#include "maskctl/mask/mask.h"
#include "maskctl/mask/step.h"

namespace maskctl {

/// Differences of one batch and head.
struct PlaneDiff {
  Index batch = 0, head = 0;
  Index only_a = 0, only_b = 0;  // open cells
};

struct MaskDiff {
  Index only_a = 0, only_b = 0;  // open cells over all batches and heads
  Index both = 0;
  std::vector<PlaneDiff> planes;  // those that differ, in order
  std::optional<Cell> first;      // lowest batch, head, query, key
  bool first_in_a = false;
  Index rows = 0;    // rows with a difference, over all planes
  Index blocks = 0;  // blocks of block x block with a difference, over all planes
  Index block = 128;
  bool equal() const { return only_a == 0 && only_b == 0; }
};

/// Batches and heads broadcast as numpy does; queries and keys must agree. Works once per distinct
/// pair of planes and never expands lazy ones.
/// Throws Error(kShape) with both shapes: not comparable is not "different".
MaskDiff diff(const Mask& a, const Mask& b, Index block = 128);

/// Why b is not a: a claim that can be applied. Either `pipeline_a` and `pipeline_b`, chains that
/// give A and B when applied to an all-open mask; or `edit`, a chain that gives B when applied to
/// A. Each but for its residue, cells that are counted by applying it: never assumed. Of all claims
/// that were tried it is the one with the shortest description: a moved number costs little, arrays
/// their size, and a cell that is left over its coordinates. `text` is one line ("B = A with window
/// left 128 instead of 127, and query 200, key 5 open").
struct DiffCause {
  /// "parameter", "alignment", "document", "padding", "step": what moved in a chain; "region":
  /// rows, columns or rectangles; "cells": single cells only; "polarity", "heads", "transposed",
  /// "shift": the mask as a whole; "other": several of these; "irregular": nothing plain lies
  /// between.
  std::string kind;
  std::string text;
  bool by_pipelines = false;  // else by edit; an edit without arrays is there in both cases
  Chain pipeline_a, pipeline_b;
  Residue residue_a, residue_b;
  Chain edit;  // on A broadcast to the common shape; empty where every cell is residue
  Residue edit_residue;
};

/// Nothing for equal masks; else always a claim, if only that the cells that differ do. Of more
/// than 256 pairs of planes that differ, those past the first are left to the residue. Masks of
/// more than 2^26 cells that are held as bits (they have more runs than that would take) are not
/// searched for rules.
std::optional<DiffCause> diff_cause(const Mask& a, const Mask& b);
/// The same where diff(a, b) is known.
std::optional<DiffCause> diff_cause(const Mask& a, const Mask& b, const MaskDiff& found);

}  // namespace maskctl
