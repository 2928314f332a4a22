// Parts of a mask expression as steps, and how they are combined with and, or and not; private to
// the layer.
#pragma once

#include <optional>
#include <vector>

#include "maskctl/mask/steps/scoped.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl {

/// A part of an expression, as steps that are applied to a full mask.
struct MaskPart {
  Chain chain;
  bool adds = false;   // the steps only open cells: apply them to an empty mask
  bool whole = false;  // the steps must come first in a chain
  /// True if the steps only close cells, so that they can follow any others.
  bool plain() const;
  /// is_all: true if the part keeps all cells. is_none: true if it keeps none.
  bool is_all() const { return chain.empty() && !adds; }
  bool is_none() const;
};
MaskPart all_cells();
MaskPart no_cells();

void append(Chain& to, const Chain& from);
/// The part as a chain that can be applied to a full mask.
Chain standing(MaskPart part);
MaskPart inverted(MaskPart part);

/// The steps for a condition and for its negation; not set if no chain can express it.
struct Condition {
  std::optional<MaskPart> yes, no;
};
/// The condition that keeps `yes`. Its negation is `no`, or the inverse of `yes`.
Condition condition(MaskPart yes);
Condition condition(MaskPart yes, MaskPart no);
Condition negated(Condition one);
/// The condition that all (or any) of the conditions hold.
Condition all_of(const std::vector<Condition>& parts);
Condition any_of(const std::vector<Condition>& parts);

/// One chain for a mask whose head (or batch) i has the chain members[i]. Further heads (or
/// batches) have the last chain of the list.
Chain chain_of_members(const std::vector<Chain>& members, step::Scoped::Axis axis);
/// chain_of_members() for ranges of heads (or batches): chains[i] is for those from ends[i - 1]
/// (from 0 if i is 0) to before ends[i]. The last chain is for all from the last end on.
Chain chain_of_ranges(const std::vector<Chain>& chains, const std::vector<Index>& ends,
                      step::Scoped::Axis axis);

}  // namespace maskctl
