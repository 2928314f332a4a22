// Compares two masks: how many cells differ, where, and why.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "maskctl/inspect/recognise/residue.h"
#include "maskctl/mask/block_size.h"
#include "maskctl/mask/cell.h"
#include "maskctl/mask/documents.h"
#include "maskctl/mask/mask.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl {

/// The differences of one batch and head.
struct PlaneDiff {
  Index batch = 0, head = 0;
  Index only_a = 0, only_b = 0;  // cells open in A only, and in B only
};

struct MaskDiff {
  Index only_a = 0, only_b = 0;  // cells open in A only, and in B only, in all batches and heads
  Index both = 0;
  std::vector<PlaneDiff> planes;  // the planes that differ, in order
  std::optional<Cell> first;      // the first cell that differs
  bool first_in_a = false;
  Index rows = 0;    // rows with a difference, over all planes
  Index blocks = 0;  // blocks with a difference, over all planes
  BlockSize block{128, 128};
  bool equal() const { return only_a == 0 && only_b == 0; }
};

/// Compares two masks. Batches and heads broadcast as in numpy; queries and keys must agree.
/// Compares each distinct pair of planes once and never expands lazy ones. Throws Error(kShape)
/// with both shapes for masks that cannot be compared: these are not "different".
MaskDiff diff(const Mask& a, const Mask& b, BlockSize block = {128, 128});

/// What is compared where one mask has fewer batches or heads than the other: "A has 2 batches, B
/// has 1, which is compared with each". Empty where both have as many.
std::string broadcast_words(const Mask& a, const Mask& b);

/// Why B is not A, as a claim that can be applied. Either `pipeline_a` and `pipeline_b`: chains
/// that give A and B from an all-open mask. Or `edit`: a chain that gives B from A. Cells that a
/// chain gets wrong are its residue, counted by applying it. Of all claims tried, this one has the
/// shortest description, in which a changed number costs little, an array its size, and a cell of
/// the residue its coordinates. `text` is one line ("B = A with window left 128 instead of 127, and
/// query 200, key 5 open").
struct DiffCause {
  /// "parameter", "alignment", "document", "padding", "step": a change of the chain. "region":
  /// rows, columns or rectangles. "cells": single cells only. "polarity", "heads", "transposed",
  /// "shift": a change of the mask as a whole. "other": several of these. "irregular": no simple
  /// difference.
  std::string kind;
  std::string text;
  // false: the claim is `edit`, and the pipelines are empty; `edit` is always given
  bool by_pipelines = false;
  Chain pipeline_a, pipeline_b;
  Residue residue_a, residue_b;
  // applies to A, broadcast to the common shape; empty if all differing cells are residue
  Chain edit;
  Residue edit_residue;
};

/// Nothing for equal masks; otherwise always a claim, if only the list of differing cells. After
/// 256 differing pairs of planes, all further differences are residue. Rules are not searched in
/// masks of more than 2^26 cells that are stored as bits because runs would take more memory.
std::optional<DiffCause> diff_cause(const Mask& a, const Mask& b);
/// diff_cause() if `found`, the result of diff(a, b), is already known.
std::optional<DiffCause> diff_cause(const Mask& a, const Mask& b, const MaskDiff& found);

/// What is known of how masks A and B were made from all-open ones: the steps, and the documents
/// that came before them, for a mask that was read as ids, positions or lengths.
struct KnownChains {
  std::optional<Chain> a, b;
  std::optional<Documents> documents_a = {}, documents_b = {};
  /// The documents of the tokens, whatever the steps are: cells that join two are named by these.
  std::optional<Documents> declared = {};
};
/// diff_cause() with what is known of both. If both chains are, and differ in a single step, that
/// is the cause, and no rule is searched. Planes of which only the documents differ are described
/// by these, even where another rule has a shorter description.
std::optional<DiffCause> diff_cause(const Mask& a, const Mask& b, const MaskDiff& found,
                                    const KnownChains& known);

/// The documents of a mask whose rows are those of documents and nothing else: tokens see each
/// other exactly if they are in one. Nothing for other masks.
std::optional<Documents> documents_made_of(const Mask& mask);

}  // namespace maskctl
