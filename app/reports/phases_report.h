// The result of `phases`, and its output formats.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/reports/json_value.h"
#include "maskctl/phases/caches/cache_rows.h"
#include "maskctl/phases/phases.h"

namespace maskctl::app {

/// One mask in one cache.
struct PhasesEntry {
  std::string layers;    // of a config: "0-4+6"; empty without one
  std::string pipeline;  // the steps of the mask; empty where they are not known
  std::string cache;     // its name and library; empty where steps were given
  std::string keeps;     // what it keeps and masks, in words
  PhasesVerdict verdict;
};
struct PhasesReport {
  std::string source;
  Index tokens = 0;
  std::vector<PhasesEntry> entries;
  std::vector<std::string> notes;  // what was not judged, and what the config does not say

  bool holds() const;
};

std::string phases_text(const PhasesReport& report);
/// {"schema": "maskctl.phases/1", ...}
Json phases_json(const PhasesReport& report);

/// The table of caches: which layers each serves, what it keeps with the sizes of an example, and
/// which source says so.
std::string caches_text();
Json caches_json();

}  // namespace maskctl::app
