// The parts of lint_mask(), each in a file of its own, and what they share; private to inspect.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/inspect/check/lint.h"
#include "maskctl/inspect/check/opened_rows.h"
#include "maskctl/inspect/count/row_safety.h"

namespace maskctl {

/// A mask that is neither empty nor full, with planes that are cheap to read, and where each plane
/// is used.
struct LintedMask {
  Mask mask;
  std::vector<PlaneUse> uses;  // one for each of mask.distinct()
};

/// Whether a plane looks inverted; or transposed, so that its queries see later keys and no earlier
/// ones, or all later keys and less than half of the earlier ones; or rolled (moved_tokens()).
enum class Turned : std::uint8_t { kNo, kInverted, kLaterAlone, kLaterMostly, kMoved };
Turned turned(const PlanePtr& plane);
/// How each of mask.distinct() is turned.
std::vector<Turned> turned_planes(const Mask& mask);
/// Reports inverted and transposed planes. `turned`: turned_planes() of the mask.
void lint_polarity(const LintedMask& linted, const std::vector<Turned>& turned, Findings& out);
/// The queries, or the keys, of a plane are moved on by `by` tokens, the last ones to the front;
/// below 0: back. Moved back, each query that sees a key sees its own, and no later one or, if not
/// `causal`, two tokens see each other or neither.
struct MovedTokens {
  bool keys = false;
  Index by = 0;
  bool causal = true;
};
std::optional<MovedTokens> moved_tokens(const PlanePtr& plane);
/// Reports planes that are Turned::kMoved.
void lint_moved(const LintedMask& linted, const std::vector<Turned>& turned, Findings& out);

/// What is known of rows that see no key (lint_mask()).
struct RowFacts {
  const Mask* real_queries = nullptr;
  bool all_declared = false, gives_nan = true;
};
/// Finds queries that see nothing, queries that see everything, and queries that see keys but none
/// in the first block that a kernel visits. `opened`: opened_rows() of this mask.
void lint_rows(const LintedMask& linted, const std::vector<OpenedRows>& opened,
               const RowFacts& facts, Findings& out);
/// Finds queries that are at a wrong position among the keys, and exchanged axes. `tokens`: open in
/// rows that are declared to be no padding; null if nothing is declared.
void lint_alignment(const LintedMask& linted, const Mask* tokens, Findings& out);
/// Finds decode steps, as batch entries, that lose keys after their cache is full.
void lint_ring(const Mask& mask, Findings& out);
/// Finds open keys after a query's own key. `opened`: opened_rows() of the mask before its opened
/// padding was closed.
void lint_future(const LintedMask& linted, const std::vector<OpenedRows>& opened, Findings& out);
/// Compares batch entries and heads with each other.
/// `whole`: the mask before its opened padding was closed, which counts for planes that see
/// nothing. `turned`: turned_planes() of the linted mask; those that are, are told as that.
void lint_planes(const LintedMask& whole, const LintedMask& linted,
                 const std::vector<Turned>& turned, Findings& out);

/// Whether all queries that see any key see the same keys, as with padding alone: such a mask has
/// no direction.
bool rows_alike(const Plane& plane);

/// Counts the rows that violate a rule, over all planes, and keeps the first.
struct RowTally {
  Index count = 0;
  Location first;

  void add(Index batch, Index head, Index query, Index rows) {
    if (count == 0) first = {batch, head, query, {}, {}, {}};
    count += rows;
  }
};

/// Counts the entries of an array that violate a rule, and describes the first.
struct EntryTally {
  Index count = 0;
  Location first;
  std::string text;  // describes the first finding

  /// Counts a finding. For the first one, notes where it is and the text that say() returns.
  template <typename Say>
  void add(Index batch, std::size_t entry, const Say& say) {
    if (count++ > 0) return;
    first.batch = batch;
    first.entry = static_cast<Index>(entry);
    text = say();
  }
  /// Reports them, if there are any.
  void report(FindingId id, Findings& out) const;
};

/// Reports those planes for which suspect(index in mask.distinct()) holds. say("in 1 of 4 planes")
/// returns the message.
void report_planes(FindingId id, const LintedMask& linted,
                   const std::function<bool(std::size_t)>& suspect,
                   const std::function<std::string(const std::string&)>& say, Findings& out);

}  // namespace maskctl
