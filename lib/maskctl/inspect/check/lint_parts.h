// The parts of lint_mask(), one file each, and what they share; private to inspect.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/inspect/check/lint.h"
#include "maskctl/inspect/check/opened_rows.h"
#include "maskctl/inspect/count/row_safety.h"

namespace maskctl {

/// A mask that is neither empty nor full, its planes readable, and where each plane is.
struct LintedMask {
  Mask mask;
  std::vector<PlaneUse> uses;  // one for each of mask.distinct()
};

/// Inverted and transposed masks.
void lint_polarity(const LintedMask& linted, Findings& out);
/// Queries that see nothing or everything, and queries with keys of which none is in the first
/// block that a kernel visits. `opened`: the opened rows of this mask.
void lint_rows(const LintedMask& linted, const std::vector<OpenedRows>& opened,
               const Mask* real_queries, bool gives_nan, Findings& out);
/// Where the queries are among the keys, and axes that were exchanged.
void lint_alignment(const LintedMask& linted, Findings& out);
/// Keys after a query's own.
void lint_future(const LintedMask& linted, Findings& out);
/// Batch entries and heads against each other.
void lint_planes(const LintedMask& linted, Findings& out);

/// Whether all queries that see any key see the same ones, as with padding alone: such a mask has
/// no direction.
bool rows_alike(const Plane& plane);

/// Counts the rows that a rule finds, over all planes.
struct RowTally {
  Index count = 0;
  Location first;

  void add(Index batch, Index head, Index query, Index rows) {
    if (count == 0) first = {batch, head, query, {}, {}, {}};
    count += rows;
  }
};

/// Reports a rule of planes: those for which suspect(plane) holds. say("in 1 of 4 planes") makes
/// the text.
void report_planes(std::string_view id, const LintedMask& linted,
                   const std::function<bool(const PlanePtr&)>& suspect,
                   const std::function<std::string(const std::string&)>& say, Findings& out);

}  // namespace maskctl
