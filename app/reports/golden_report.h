// The results of `golden`, and their output formats.
#pragma once

#include <string>
#include <vector>

#include "app/reports/json_value.h"
#include "maskctl/golden/golden.h"

namespace maskctl::app {

/// One entry of a manifest with its result.
struct GoldenCase {
  GoldenEntry entry;
  GoldenResult result;
};

struct GoldenReport {
  std::string manifest;
  std::vector<GoldenCase> cases;

  Index count(GoldenResult::Status status) const;
  /// 0 if all passed, 1 if some differ, 2 if some could not be compared.
  int exit_status() const;
};

/// The kinds of expected values of an entry, joined by "+": "sha256", "sha256+holds".
std::string expected_names(const GoldenEntry& entry);

std::string golden_text(const GoldenReport& report);
/// JUnit XML, one test case per entry.
std::string golden_junit(const GoldenReport& report);
/// Lines "::error file=FILE,line=N::..." for entries that did not pass.
std::string golden_annotations(const GoldenReport& report);
/// {"schema": "maskctl.golden/1", ...}.
Json golden_json(const GoldenReport& report);
/// An entry that `golden update` handled; `changed` is false if it was already up to date.
struct GoldenWritten {
  GoldenEntry entry;
  bool changed = false;
};
std::string golden_update_text(const std::vector<GoldenWritten>& written);
/// {"schema": "maskctl.golden-update/1", ...}.
Json golden_update_json(const std::string& manifest, const std::vector<GoldenWritten>& written);
/// {"schema": "maskctl.golden-list/1", ...}: the entries as in the manifest.
Json golden_list_json(const std::string& manifest, const std::vector<GoldenEntry>& entries);

}  // namespace maskctl::app
