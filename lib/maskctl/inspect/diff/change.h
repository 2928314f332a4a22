// Words for how the arguments of two steps of one rule differ; private to inspect.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "maskctl/mask/cell.h"
#include "maskctl/mask/steps/change.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl {

/// The diagonals (key - query) that a causal or window step keeps, both inclusive; nullopt: no
/// limit.
struct Limits {
  std::optional<Index> low, high;
  Index centre = 0;     // the diagonal from which left= and right= count
  Index offset = 0;     // distance of `centre` from the diagonal that align= gives
  bool causal = false;  // `high` comes from a causal step
  friend bool operator==(const Limits&, const Limits&) = default;
};
/// Returns the diagonals that a causal or window step keeps; nothing for other steps, and if they
/// differ between batches. `shift`: the number of keys minus that of queries.
std::optional<Limits> limits_of(const Step& step, Index shift);

/// The ids of the queries and keys of a document or type mask; tokens with id `none` are in no
/// document.
struct Ids {
  std::vector<std::int32_t> q, k;
  std::int32_t none = -1;
};
/// Words for documents that were removed, added, joined, split or moved; ids as such do not matter.
/// Nothing if the documents are equal.
MaybeReason documents_change(const Ids& a, const Ids& b);

/// True for steps of the same rule, and of two rules that can have the same cells: causal and
/// window, documents by lengths and by ids, prefix and sinks.
bool are_comparable(const Step& a, const Step& b);
/// What differs between two comparable steps. `changes` is 0 if they have the same effect.
Reason step_change(const Step& a, const Step& b, Index queries, Index keys);

/// step_change() for two `within` steps: compares their documents and the steps inside these.
Reason within_change(const Step& a, const Step& b);

/// What differs between two chains that are equal except for one step, which was changed, added or
/// left out. Nothing for other chains.
MaybeReason chain_change(const Chain& a, const Chain& b, Index queries, Index keys);

/// "keys at positions 9+0-8 instead of in order", or the opposite: one chain is the other, but for
/// a change of one step, applied at positions of tokens that are ranges. Nothing for other chains.
MaybeReason positions_change(const Chain& a, const Chain& b);

/// How many numbers differ between two comparable steps, as in `changes` of step_change(), but
/// without comparing each token of documents. Documents given by ids count as very many numbers
/// unless they are equal.
Index moved_numbers(const Step& a, const Step& b, Index queries, Index keys);

/// The documents of the cell's query and key, numbered in order, if the step has documents and
/// these two are different. Nothing otherwise.
std::optional<std::pair<Index, Index>> documents_of(const Step& step, const Cell& cell);

/// Words for a step that only A or only B has: "chunk size 8".
std::string step_words(const Step& step, Index shift);
/// Words for a step that only B has, or only A: "chunk size 8 added", "the row of query 3 closed";
/// "chunk size 8 missing", "closing of the row of query 3 missing".
std::string added_words(const Step& step, Index shift);
std::string missing_words(const Step& step, Index shift);
/// missing_words() of a region for which `words` say that it is opened or closed.
std::string missing_region_words(const std::string& words, bool open);

}  // namespace maskctl
