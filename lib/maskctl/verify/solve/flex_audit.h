// Which of the three masks of a call of FlexAttention differs from the others: what mask_mod means,
// what the lists of blocks make of it, or what the output obeys.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "maskctl/inspect/diff/diff.h"
#include "maskctl/verify/solve/explain.h"

namespace maskctl::attention {

/// The lists of a BlockMask as masks that open every cell of their blocks. A kernel calls mask_mod
/// in partial blocks, does not call it in full ones, and visits no other blocks.
struct ListedBlocks {
  Mask partial, full;
  BlockSize size;
};

enum class Listed : std::uint8_t { kNot, kPartial, kFull };
/// "not listed", "partial" or "full".
std::string_view name(Listed listed);

struct FlexLists {
  Mask told;      // what a kernel applies
  MaskDiff diff;  // mask_mod (a) and told (b)
  /// The block of the first cell that differs, if one does, and how it is listed.
  Index row = 0, column = 0;
  Listed listed = Listed::kNot;
};

/// Compares the mask of mask_mod (`meant`) with the mask that a kernel applies: `own`, the mask of
/// the mask_mod stored with the lists, in the blocks that the lists name. Batches and heads
/// broadcast. Throws Error(kShape) where queries or keys disagree.
FlexLists compare_lists(const Mask& meant, const Mask& own, const ListedBlocks& blocks);

/// kLists: output and mask_mod are one mask, the lists are not. kMaskMod: the lists were applied,
/// and are not those of mask_mod. kOutput: mask_mod and lists are one mask, which the output does
/// not obey. kAll: the three differ. kUnclear: mask_mod and lists are one mask, and the output
/// tells nothing.
enum class FlexVerdict : std::uint8_t { kAgree, kLists, kMaskMod, kOutput, kAll, kUnclear };
/// "agree", "lists", "mask_mod", "output", "all" or "unclear".
std::string_view name(FlexVerdict verdict);

struct FlexAudit {
  FlexLists lists;
  bool obeys_mask_mod = false;
  bool obeys_lists = false;  // where these are another mask
  bool decided = false;      // whether the output tells if it obeys one of them
  /// The report on the mask that the output obeys; if it obeys none, on the last mask compared
  /// about which the output tells something.
  GivenReport report;
  std::optional<Cell> first;  // the first cell in which the output differs from that mask
  std::string no_first;       // why that is not known, where solving for it was refused
  FlexVerdict verdict = FlexVerdict::kAgree;
};

/// Says what is known of an output and a mask, as judge_fully() does or, if `solve`, as
/// solve_fully() does.
using FlexJudge = std::function<FullVerdict(const Mask& declared, bool solve)>;

/// Compares an output with the masks of compare_lists(). Throws what `judge` throws, except a
/// refusal to solve.
FlexAudit audit_flex(const Mask& meant, FlexLists lists, const FlexJudge& judge);

}  // namespace maskctl::attention
