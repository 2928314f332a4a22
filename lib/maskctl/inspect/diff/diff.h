// Compares two masks: how many cells differ, where, and why.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "maskctl/inspect/recognise/residue.h"
#include "maskctl/mask/block_size.h"
#include "maskctl/mask/cell.h"
#include "maskctl/mask/mask.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl {

/// Differences of one batch and head.
struct PlaneDiff {
  Index batch = 0, head = 0;
  Index only_a = 0, only_b = 0;  // cells open in only one of them
};

struct MaskDiff {
  Index only_a = 0, only_b = 0;  // the same over all batches and heads
  Index both = 0;
  std::vector<PlaneDiff> planes;  // the planes that differ, in order
  std::optional<Cell> first;      // the lowest batch, head, query, key
  bool first_in_a = false;
  Index rows = 0;    // rows with a difference, over all planes
  Index blocks = 0;  // blocks with a difference, over all planes
  BlockSize block{128, 128};
  bool equal() const { return only_a == 0 && only_b == 0; }
};

/// Batches and heads broadcast as in numpy; queries and keys must agree. Compares each distinct
/// pair of planes once and never expands lazy ones. Throws Error(kShape) with both shapes: masks
/// that cannot be compared are not "different".
MaskDiff diff(const Mask& a, const Mask& b, BlockSize block = {128, 128});

/// Why B is not A, as a claim that can be applied: either `pipeline_a` and `pipeline_b`, chains
/// that give A and B when applied to an all-open mask; or `edit`, a chain that gives B when applied
/// to A. Each is exact up to its residue, cells that are counted by applying it and never assumed.
/// Of all claims that were tried, it is the one with the shortest description: a moved number costs
/// little, an array its size, a remaining cell its coordinates. `text` is one line ("B = A with
/// window left 128 instead of 127, and query 200, key 5 open").
struct DiffCause {
  /// "parameter", "alignment", "document", "padding", "step": what changed in a chain; "region":
  /// rows, columns or rectangles; "cells": single cells only; "polarity", "heads", "transposed",
  /// "shift": the mask as a whole; "other": several of these; "irregular": no simple difference.
  std::string kind;
  std::string text;
  bool by_pipelines = false;  // else by edit, and the pipelines are empty; an edit is always given
  Chain pipeline_a, pipeline_b;
  Residue residue_a, residue_b;
  Chain edit;  // applies to A broadcast to the common shape; empty when every cell is residue
  Residue edit_residue;
};

/// Nothing for equal masks; otherwise always a claim, in the worst case just the cells that differ.
/// Of more than 256 differing pairs of planes, the rest goes into the residue. Masks of more than
/// 2^26 cells that are stored as bits (since runs would take more) are not searched for rules.
std::optional<DiffCause> diff_cause(const Mask& a, const Mask& b);
/// diff_cause() where diff(a, b) is known.
std::optional<DiffCause> diff_cause(const Mask& a, const Mask& b, const MaskDiff& found);

/// The steps that made two masks of all-open ones.
struct KnownChains {
  Chain a, b;
};
/// diff_cause() where these chains are known: if one step has other arguments, that is the cause,
/// and nothing is recognised.
std::optional<DiffCause> diff_cause(const Mask& a, const Mask& b, const MaskDiff& found,
                                    const KnownChains& known);

}  // namespace maskctl
