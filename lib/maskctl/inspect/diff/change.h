// Words for how the arguments of two steps of one rule differ; private to inspect.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "maskctl/inspect/diff/words.h"
#include "maskctl/mask/cell.h"
#include "maskctl/mask/steps/step.h"
#include "maskctl/mask/steps/within.h"

namespace maskctl {

/// The diagonals (key - query) that a causal or window step keeps.
struct Limits {
  std::optional<Index> low, high;
  Index centre = 0;     // the diagonal from which the sides count
  Index offset = 0;     // distance of the centre from the diagonal of the alignment
  bool causal = false;  // `high` comes from a causal step
  friend bool operator==(const Limits&, const Limits&) = default;
};
/// Nothing for other steps, and for offsets that differ between batches.
std::optional<Limits> limits_of(const Step& step, Index shift);

/// The ids of one side of a document or type mask; tokens with id `none` are in no document.
struct Ids {
  std::vector<std::int32_t> q, k;
  std::int32_t none = -1;
};
/// Documents that were removed, added, joined, split or moved; the ids themselves do not matter.
/// Nothing when the documents are equal.
MaybeReason documents_change(const Ids& a, const Ids& b);

/// Both steps must have the same rule (prefix and sinks count as one rule; so do both forms of
/// documents). `changes` is 0 when they have the same effect.
Reason step_change(const Step& a, const Step& b, Index queries, Index keys);

/// step_change() for documents with queries and keys of their own, and the steps inside them.
Reason within_change(const step::Within& a, const step::Within& b);

/// The arguments that differ in two chains of which all steps but one are equal; nothing for other
/// chains.
MaybeReason chain_change(const Chain& a, const Chain& b, Index queries, Index keys);

/// How many numbers differ in two steps of one rule: the `changes` of step_change, computed without
/// visiting each token of documents.
Index moved_numbers(const Step& a, const Step& b, Index queries, Index keys);

/// The documents of the cell's query and key, numbered by first appearance, if the step is a
/// step of documents and the two tokens are in different documents.
std::optional<std::pair<Index, Index>> documents_of(const Step& step, const Cell& cell, Index keys);
/// documents_of() for documents given by lengths, numbered in their order.
std::optional<std::pair<Index, Index>> documents_of(const step::Within& rule, const Cell& cell);

/// Steps with equal numbers can be compared by step_change.
std::size_t rule_number(const Step& step);
/// "chunk size 8", for a step that only one side has.
std::string step_words(const Step& step, Index shift);
/// Where the steps that a step holds apply: "each document", "heads 0-3".
std::string inside_words(const Step& step);

}  // namespace maskctl
