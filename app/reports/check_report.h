// The result of check, and its forms.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "maskctl/inspect/check/expect.h"
#include "maskctl/inspect/check/lint.h"

namespace maskctl::app {

/// A question that was not examined, and how to ask it.
struct NotLookedAt {
  std::string what, option;
};

struct CheckReport {
  std::string source;
  std::vector<std::string> steps;             // the pipeline, one step each
  std::optional<std::array<Index, 4>> shape;  // absent if the arrays do not make a mask
  bool linted = false;                        // else only `expected` was evaluated
  std::vector<ExpectationResult> expected;
  Findings findings;  // errors first
  std::optional<Leaks> leaks;
  std::vector<NotLookedAt> not_looked_at;  // only for a lint
  /// The bytes of a cell in the file of the SOURCE; empty where the axes of its array are not those
  /// of the mask.
  std::function<std::optional<Range>(const Location&)> bytes;

  /// True when all expectations hold, and no finding is an error or a warning.
  bool ok() const;
};

/// The position of a counter-example: "batch 0, head 0, query 3, key 7".
Location where_of(const Cell& cell);
/// "3 cells, the first at batch 0, head 0, query 3, key 7"; with the detail, if any.
std::string counter_example(const ExpectationResult& expected);

std::string check_text(const CheckReport& report);
/// {"schema": "maskctl.check/1", ...}.
std::string check_json(const CheckReport& report);
/// SARIF 2.1.0: one run, with one result for each finding and each expectation that does not hold.
/// Each has a region, as code scanning asks for one: the first line of the file, with the bytes of
/// the cell where they are known; or, for a mask that was generated, a line of its pipeline, which
/// the report then contains. A finding about a step refers to the line of the step. The logical
/// location names the cell.
std::string check_sarif(std::span<const CheckReport> reports);
/// JUnit XML: one suite for each SOURCE, with one test case for each expectation, or for each
/// finding; notes pass.
std::string check_junit(std::span<const CheckReport> reports);

}  // namespace maskctl::app
