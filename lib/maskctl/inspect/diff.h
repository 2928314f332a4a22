// Two masks compared: how many cells differ, where, and why.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "maskctl/inspect/recognise.h"
#include "maskctl/mask/mask.h"

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

/// Why b is not a, proven: `text` is one line ("B = A with window left 128 instead of 127").
/// Some mask with the one number, rule or order is a exactly, and the same mask with the other is b
/// exactly (`unexplained` == 0) or but for that many cells.
struct DiffCause {
  std::string kind;  // "parameter", "alignment", "shift", "document", "polarity", "heads",
                     // "padding", "transposed", "step", "other"
  std::string text;
  Index unexplained = 0;
};

/// The simplest cause that explains all differences; nothing when none is found.
/// Masks of more than 2^26 cells that are held as bits (they have more runs than that would take)
/// are not searched for rules: polarity, order of heads, rows, columns and rectangles are tried.
std::optional<DiffCause> diff_cause(const Mask& a, const Mask& b);
/// The same where diff(a, b) is known.
std::optional<DiffCause> diff_cause(const Mask& a, const Mask& b, const MaskDiff& found);

}  // namespace maskctl
