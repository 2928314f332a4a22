// Parts of an expression as steps on an all-open mask, and how they are joined; private to the
// layer.
#pragma once

#include <optional>
#include <vector>

#include "maskctl/mask/steps/scoped.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl {

/// A part of an expression, as steps on an all-open mask.
struct MaskPart {
  Chain chain;
  bool adds = false;   // its steps only open, and mean a mask of their own
  bool whole = false;  // its steps cannot follow others
  /// True when the steps only close, so that they can follow any others.
  bool plain() const;
  /// All cells, or none.
  bool is_all() const { return chain.empty() && !adds; }
  bool is_none() const;
};
MaskPart all_cells();
MaskPart no_cells();

void append(Chain& to, const Chain& from);
/// The part as a chain on an all-open mask.
Chain standing(MaskPart part);
MaskPart inverted(MaskPart part);

/// What a condition keeps, and what its negation keeps; nothing where no chain can express it.
struct Condition {
  std::optional<MaskPart> yes, no;
};
/// The condition that keeps `yes`, with the negation that follows from it, if a chain can express
/// that.
Condition condition(MaskPart yes);
Condition condition(MaskPart yes, MaskPart no);
Condition negated(Condition one);
/// One chain for all of the conditions, or for any of them.
Condition all_of(const std::vector<Condition>& parts);
Condition any_of(const std::vector<Condition>& parts);

/// One chain for heads, or batches, of which each has its own; the last is that of all others too.
Chain chain_of_members(const std::vector<Chain>& members, step::Scoped::Axis axis);
/// chain_of_members() for ranges of members: chain i is for those from `ends[i - 1]` (0 for the
/// first) to before `ends[i]`, the last chain for all from the last end on.
Chain chain_of_ranges(const std::vector<Chain>& chains, const std::vector<Index>& ends,
                      step::Scoped::Axis axis);

}  // namespace maskctl
