// What the fixes of single findings make (LintRule::fixed); private to inspect.
#pragma once

#include <optional>

#include "maskctl/inspect/check/check.h"
#include "maskctl/mask/mask.h"

namespace maskctl {

/// A mask with a finding, and all that is known of it. `given` has no steps.
struct Faulty {
  const CheckedMask& given;
  const CheckResult& found;
  const Finding& finding;

  /// The mask; null where it is made from ids or lengths, whose cells cannot be changed one by one.
  const Mask* cells() const;
  /// A mask that is open in the rows of queries that are tokens of documents; absent if no
  /// documents are known.
  std::optional<Mask> tokens() const;
  /// The same with another mask.
  CheckedMask with(Mask mask) const;
};
using Fixed = std::optional<CheckedMask>;

// Each function returns nothing if it is not known what the fix has to do.
Fixed close_crossing(const Faulty& faulty);      // cells between documents
Fixed close_padding_keys(const Faulty& faulty);  // for queries of documents
Fixed close_future_cells(const Faulty& faulty);  // those of future-part, if no group is cut
Fixed close_later_groups(const Faulty& faulty);  // likewise of groups-joined
Fixed close_opened_rows(const Faulty& faulty);   // the future of rows that see every key
Fixed make_causal(const Faulty& faulty);         // closes all keys after the queries' own
Fixed invert(const Faulty& faulty);              // planes that look inverted, or all
Fixed exchange_axes(const Faulty& faulty);       // queries and keys of planes that look transposed
Fixed roll_back(const Faulty& faulty);           // queries or keys of planes that look rolled
Fixed heads_to_queries(const Faulty& faulty);    // [B,S,1,S] becomes [B,1,S,S]
Fixed follow_steps(const Faulty& faulty);        // the steps that make nearly the whole mask
Fixed like_the_others(const Faulty& faulty);     // a plane that differs from equal ones
Fixed like_equal_planes(const Faulty& faulty);   // full planes, where all others are equal
Fixed see_themselves(const Faulty& faulty);      // empty rows, where queries are the keys
Fixed write_canonical(const Faulty& faulty);     // bools, or one number that closes
Fixed lengths_as_int32(const Faulty& faulty);

}  // namespace maskctl
