// What an explanation of two planes works on, and what it finds; private to inspect.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "maskctl/inspect/recognise.h"
#include "maskctl/mask/mask.h"

namespace maskctl {

/// Two planes of equal extents that differ, and the cells that only one of them has open.
struct PlanePair {
  PlanePtr a, b, only_a, only_b;

  Index queries() const { return a->queries(); }
  Index keys() const { return a->keys(); }
  bool square() const { return queries() == keys(); }
  /// From the top-left to the bottom-right alignment.
  Index shift() const { return keys() - queries(); }
};
PlanePair pair_of(const PlanePtr& a, const PlanePtr& b);
/// The same difference told from b.
PlanePair swapped(const PlanePair& pair);

/// What would have to be changed in A to get B, without "B = A with". `changes` counts numbers and
/// steps; 1 is as simple as it gets.
struct Reason {
  std::string kind;
  std::string words;
  Index changes = 1;
};
using MaybeReason = std::optional<Reason>;

bool is_empty(const PlanePtr& plane);
bool same_open(const PlanePtr& a, const PlanePtr& b);
/// No cell is open in both.
bool disjoint(const PlanePtr& a, const PlanePtr& b);
/// Every open cell of `part` is open in `whole`.
bool inside(const PlanePtr& part, const PlanePtr& whole);

/// x keeps all of A, y all of B, and every difference lies where x and y differ.
bool kept_by(const PlanePair& pair, const PlanePtr& x, const PlanePtr& y);
/// A has all of x, B all of y, and every difference lies in one of them.
bool opened_by(const PlanePair& pair, const PlanePtr& x, const PlanePtr& y);

/// Without the rows and columns that are open in both masks: prefix, sinks and global tokens hide
/// the rules under them. Nothing when there are none.
std::optional<PlanePair> uncovered(const PlanePair& pair);

/// "5 instead of 4".
std::string instead(Index b, Index a);
/// "token 4", "tokens 4 to 7": `what` without s.
std::string range_words(const char* what, Range range);
/// Ranges of neighbours as range_words, joined by commas; of many the first and how many more.
std::string ranges_words(const char* what, const std::vector<Range>& ranges);

/// By the numbers that recognise() gives for both planes; nothing unless it explains both wholly.
MaybeReason chains_reason(const PlanePair& pair);
/// By rules whose numbers the planes tell themselves. What such a rule keeps and opens holds A with
/// one number and B with another, and all differences lie where the two rules differ: some mask
/// with the one rule is A, and the same mask with the other is B.
MaybeReason rules_reason(const PlanePair& pair);
/// By the other alignment of a causal or window rule, where a move of its sides by K - Q explains
/// all; a rule is seen only where other ones let it be.
MaybeReason alignment_reason(const PlanePair& pair);
/// By whole documents that are missing or came, and are no padding.
MaybeReason documents_reason(const PlanePair& pair);
/// By the one cell that differs.
MaybeReason cell_reason(const PlanePair& pair);
/// By documents, rows, columns or a rectangle that are open or closed.
MaybeReason regions_reason(const PlanePair& pair);
/// B as A shifted along an axis.
MaybeReason shift_reason(const PlanePair& pair);

}  // namespace maskctl
