// Reports what was noticed while lists of keys and slices were read.
#include <algorithm>

#include "maskctl/inspect/check/lint_parts.h"

namespace maskctl {

LintRule lint_row(RuleKey<FindingId::kListRepeats>) {
  return {
      .id = "list-repeats",
      .severity = Severity::kWarning,
      .summary = "an index list has a key twice",
      .claim = "that many lists have a key, or a block of keys, twice; the key is one of the first",
      .why =
          "a kernel that gathers the listed keys counts it twice in the softmax: its weight "
          "doubles, and no mask of 0 and 1 says so",
      .fix = "list each key once, as convert writes lists",
      .example =
          R"(python3 -c 'import numpy as np; np.save("lists.npy", np.array([[0, -1], [1, 1], [0, 2]]))'
maskctl check lists.npy --as index-lists)",
      .unfixed = "which key should stand in place of the second is not known"};
}

LintRule lint_row(RuleKey<FindingId::kListGaps>) {
  return {
      .id = "list-gaps",
      .severity = Severity::kWarning,
      .summary = "an index list has keys after -1",
      .claim = "that many lists have a key behind a -1; the key is the first such of the first",
      .why =
          "FlashMLA passes over -1 anywhere; MagiAttention reads one that stands before a key as "
          "key 0, and a kernel that stops at the first -1 never sees the keys behind it",
      .fix = "move -1 to the end of each list, as convert writes lists",
      .example =
          R"(python3 -c 'import numpy as np; np.save("lists.npy", np.array([[0, -1], [-1, 1], [0, 2]]))'
maskctl check lists.npy --as index-lists)",
      .unfixed = "which of its kernels' readings is meant is not known"};
}

LintRule lint_row(RuleKey<FindingId::kListOrder>) {
  return {
      .id = "list-order",
      .severity = Severity::kNote,
      .summary = "the keys of an index list do not ascend",
      .claim = "that many lists have a key before a smaller one; the key is the first smaller one",
      .why =
          "as top-k gives them, by score: kernels that gather single keys take any order, those "
          "that stop at the first key past the query, or merge neighbours, need ascending ones",
      .fix = "nothing, or sort each list, as convert writes them",
      .example =
          R"(python3 -c 'import numpy as np; np.save("lists.npy", np.array([[0, -1], [1, 0], [2, 0]]))'
maskctl check lists.npy --as index-lists)"};
}

LintRule lint_row(RuleKey<FindingId::kSlicesOverlap>) {
  return {
      .id = "slices-overlap",
      .severity = Severity::kWarning,
      .summary = "slices overlap",
      .claim =
          "the slices have that many cells more, counted one by one, than are open; the cell is "
          "the "
          "first that is in two",
      .why =
          "the kernel adds up what slices give: a cell in two of them has twice its weight in the "
          "softmax, which no mask of 0 and 1 says",
      .fix = "cut the slices so that each cell is in one, as convert writes slices",
      .example =
          R"(python3 -c 'import numpy as np; np.savez("slices.npz", q_ranges=[[0, 4], [2, 4]], k_ranges=[[0, 4], [2, 4]], attn_type_map=[1, 0])'
maskctl check slices.npz)",
      .unfixed = "which of them should have the cells is not known"};
}

namespace {

FindingId finding_of(ArrayFact fact) {
  switch (fact) {
    case ArrayFact::kListRepeats:
      return FindingId::kListRepeats;
    case ArrayFact::kListGaps:
      return FindingId::kListGaps;
    case ArrayFact::kListOrder:
      return FindingId::kListOrder;
    case ArrayFact::kSlicesOverlap:
      return FindingId::kSlicesOverlap;
    case ArrayFact::kCount:
      break;
  }
  return FindingId::kCount;
}

}  // namespace

Findings lint_facts(const ArrayFacts& facts) {
  Findings out;
  for (const FactSeen& seen : facts) {
    const Cell& at = seen.first;
    out.push_back({&lint_rule(finding_of(seen.fact)),
                   to_text(seen),
                   {at.batch, at.head, at.query, at.key, {}, {}},
                   seen.count});
  }
  return out;
}

}  // namespace maskctl
