// Compares the masks that two runs of a model applied, layer by layer and position by position.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "maskctl/inspect/diff/diff.h"
#include "maskctl/mask/mask.h"

namespace maskctl {

/// What was captured of one layer: its distinct masks. The queries of a mask [B,H,Q,K] are the last
/// Q of K tokens: query i is at position K - Q + i, or at i where there are more queries than keys.
struct CapturedLayer {
  std::string name;  // "model.layers.0.self_attn"
  std::vector<Mask> masks;
  std::string unread;  // why a mask of it was not read; empty if all were
};

/// The masks of a layer: one, where their queries follow each other, as those of a prompt and of
/// the tokens generated behind it; else as they are.
std::vector<Mask> in_sequence(const std::vector<Mask>& masks);

/// Layers of one name whose masks differ in the same way.
struct CapturedDifference {
  std::vector<std::string> layers;
  Mask a, b;        // the first pair that differs, cut to the positions that both have
  Index begin = 0;  // the position of query 0 of both
  MaskDiff diff;    // of a and b
  std::optional<DiffCause> cause;
  std::string no_cause;  // why it is not known

  /// The first cell that differs, its query as a position.
  Cell first() const;
};

struct LayerNote {
  std::string layer, text;
};

struct CapturedDiff {
  std::vector<std::string> equal;  // all its masks were read, and compared
  std::vector<CapturedDifference> differences;
  std::vector<std::string> only_a, only_b;  // layers of one run
  std::vector<LayerNote> uncompared;        // layers of which a part was not compared, and why
  /// Layers that have more queries, batches or heads in one run: what of them was compared.
  std::vector<LayerNote> notes;
  /// Whether a mask with fewer queries than keys was compared, whose queries were taken for the
  /// last tokens.
  bool by_last_tokens = false;

  enum class Answer { kEqual, kDiffer, kUnknown };
  /// kUnknown: nothing differs, and not all was compared.
  Answer answer() const;
};

/// Compares masks in_sequence(). Where a layer had several masks for one position, as of several
/// batches, those of both runs are compared in their order, or with the only one of the other run;
/// where neither can be, the layer is not compared. Throws Error(kInvalidArgument) if no layer is
/// in both runs.
CapturedDiff diff_captured(std::span<const CapturedLayer> a, std::span<const CapturedLayer> b);

}  // namespace maskctl
