// What golden found out, and its forms.
#pragma once

#include <string>
#include <vector>

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
  /// 0 all passed, 1 some differ, 2 some could not be compared.
  int exit_status() const;
};

std::string_view expect_name(GoldenEntry::Expect expect);

std::string golden_text(const GoldenReport& report);
/// JUnit XML, a test case for each entry.
std::string golden_junit(const GoldenReport& report);
/// Lines "::error file=FILE,line=N::..." of entries that did not pass.
std::string golden_annotations(const GoldenReport& report);
/// {"schema": "maskctl.golden/1", ...}.
std::string golden_json(const GoldenReport& report);
/// An entry whose golden file or digest was written.
struct GoldenWritten {
  GoldenEntry entry;
  bool changed = false;
};
std::string golden_update_text(const std::vector<GoldenWritten>& written);
/// {"schema": "maskctl.golden-update/1", ...}.
std::string golden_update_json(const std::string& manifest,
                               const std::vector<GoldenWritten>& written);
/// {"schema": "maskctl.golden-list/1", ...}: entries as the manifest has them.
std::string golden_list_json(const std::string& manifest, const std::vector<GoldenEntry>& entries);

}  // namespace maskctl::app
