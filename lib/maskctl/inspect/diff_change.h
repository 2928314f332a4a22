// How the arguments of two steps of one rule differ, in words; private to inspect.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "maskctl/inspect/diff_words.h"
#include "maskctl/mask/cell.h"
#include "maskctl/mask/step.h"

namespace maskctl {

/// Which diagonals (key - query) a causal or window step keeps.
struct Limits {
  std::optional<Index> low, high;
  Index centre = 0;     // the diagonal that the sides count from
  Index offset = 0;     // of the centre from where the alignment puts it
  bool causal = false;  // `high` is that of a causal step
  friend bool operator==(const Limits&, const Limits&) = default;
};
/// Nothing for other steps, and for offsets that differ between batches.
std::optional<Limits> limits_of(const Step& step, Index shift);

/// The ids of one side of a document or type mask; `none` belongs to nothing.
struct Ids {
  std::vector<std::int32_t> q, k;
  std::int32_t none = -1;
};
/// Documents that left, came, were joined, split or moved; names of ids do not matter. Nothing
/// when they are equal.
MaybeReason documents_change(const Ids& a, const Ids& b);

/// The steps must have one rule (prefix and sinks are one; so are both forms of documents).
/// `changes` is 0 when they do the same.
Reason step_change(const Step& a, const Step& b, Index queries, Index keys);

/// How many numbers are not the same in two steps of one rule: what `changes` of step_change
/// counts, without looking at each token of documents.
Index moved_numbers(const Step& a, const Step& b, Index queries, Index keys);

/// The documents of the cell's query and key by first appearance, where the step is one of
/// documents and both are in one, not the same.
std::optional<std::pair<Index, Index>> documents_of(const Step& step, const Cell& cell, Index keys);

/// Steps of equal number can be compared by step_change.
std::size_t rule_number(const Step& step);
/// "chunk size 8", for a step that only one side has.
std::string step_words(const Step& step, Index shift);

}  // namespace maskctl
