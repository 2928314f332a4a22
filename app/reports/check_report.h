// The result of `check`, and its output formats.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/reports/json_value.h"
#include "maskctl/inspect/check/check.h"
#include "maskctl/inspect/check/expect.h"
#include "maskctl/inspect/check/fix.h"
#include "maskctl/io/kinds/kind.h"

namespace maskctl::app {

/// What `check --write-fixed` did (FixResult).
struct FixedReport {
  std::string file;
  std::optional<ArrayKind> kind;  // as which it was written; absent if it was not
  std::vector<FixDone> done;
  std::vector<FixLeft> left;
  std::vector<const LintRule*> gone;
  std::vector<NotLookedAt> not_looked_at;
  bool other_kind = false;  // it was not read as that
};

struct CheckReport {
  std::string source;
  std::string unread;                         // why the SOURCE could not be read; then no more
  std::vector<std::string> steps;             // the steps of the pipeline
  std::optional<std::array<Index, 4>> shape;  // absent if the arrays do not make a mask
  bool linted = false;                        // false: only the expectations were evaluated
  std::vector<ExpectationResult> expected;
  CheckResult found;  // empty unless `linted`
  std::optional<FixedReport> fixed = {};
  /// Returns the bytes of a cell in the file of the SOURCE. Empty if the axes of the array in the
  /// file are not those of the mask.
  std::function<std::optional<Range>(const Location&)> bytes;

  /// True when all expectations hold, and no finding is an error or a warning.
  bool ok() const;
  /// Like ok(), but for the mask that --write-fixed wrote, if it wrote one.
  bool ok_now() const;
};

/// Names a part that was not looked at, and the option that makes `check` look at it.
struct Unseen {
  std::string_view what, option;
};
Unseen unseen(NotLookedAt part);

/// The location of a cell, such as "batch 0, head 0, query 3, key 7".
Location where_of(const Cell& cell);
/// "3 cells, the first at batch 0, head 0, query 3, key 7", followed by the detail, if any.
std::string counter_example(const ExpectationResult& expected);

std::string check_text(const CheckReport& report);
/// {"schema": "maskctl.check/1", ...}.
Json check_json(const CheckReport& report);
/// SARIF 2.1.0: one run, with a result for each finding and each expectation that does not hold.
/// Code scanning needs a region for each result: line 1 of the file, with the bytes of the cell if
/// they are known. For a generated mask, the report contains the text of its pipeline, and the
/// region is a line of that text. A finding about a step also refers to the line of the step. The
/// logical location names the cell.
std::string check_sarif(std::span<const CheckReport> reports);
/// JUnit XML: a suite for each SOURCE, with a test case for each expectation and each finding.
/// Findings that are only notes count as passed.
std::string check_junit(std::span<const CheckReport> reports);

}  // namespace maskctl::app
