// Replays golden data, which are calls of ejkernel with their results, in this library:
// conformance [--suite NAME] [--case ID] [--backend NAME].
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <vector>

#include "conformance/replay.h"

namespace {

using conformance::Filter;
using conformance::Report;

/// A set of golden data, and its folder, unless the environment variable names another folder.
struct GoldenSet {
  const char* variable;
  const char* folder;
  std::function<Report(const std::string& folder, const Filter& filter)> replay;
};

const std::vector<GoldenSet> kSets = {
    {"MASKCTL_GOLDEN_MASKS", MASKCTL_SOURCE_DIR "/tests/data/golden/masks",
     conformance::replay_masks},
    {"MASKCTL_GOLDEN_OPS", MASKCTL_SOURCE_DIR "/tests/data/golden/ops", conformance::replay_ops},
};

constexpr const char* kHelp =
    "usage: conformance [--suite NAME] [--case ID] [--backend NAME]\n"
    "Replays the golden data, or that of the folders named by MASKCTL_GOLDEN_MASKS and\n"
    "MASKCTL_GOLDEN_OPS.\n"
    "Prints a line for each failing case; exits with 1 when there is one.\n";

/// Reads the options; returns no filter if an argument is no option.
std::optional<Filter> filter_of(const std::vector<std::string>& args) {
  Filter filter;
  for (std::size_t i = 0; i < args.size(); i += 2) {
    if (i + 1 == args.size()) return std::nullopt;
    if (args[i] == "--suite") {
      filter.suite = args[i + 1];
    } else if (args[i] == "--case") {
      filter.id = args[i + 1];
    } else if (args[i] == "--backend") {
      filter.backend = args[i + 1];
    } else {
      return std::nullopt;
    }
  }
  return filter;
}

/// Replays the sets of golden data whose environment variable is set, or all of them if none is.
Report replay_all(const Filter& filter) {
  bool chosen = false;
  for (const GoldenSet& set : kSets) chosen = chosen || std::getenv(set.variable);
  Report all;
  for (const GoldenSet& set : kSets) {
    const char* folder = std::getenv(set.variable);
    if (chosen && !folder) continue;
    Report report = set.replay(folder ? folder : set.folder, filter);
    all.passed += report.passed;
    all.failures.insert(all.failures.end(), report.failures.begin(), report.failures.end());
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  const std::optional<Filter> filter = filter_of({argv + 1, argv + argc});
  if (!filter) {
    std::fputs(kHelp, stderr);
    return 2;
  }
  try {
    const Report report = replay_all(*filter);
    for (const std::string& line : report.failures) fmt::print("{}\n", line);
    if (report.passed + report.failures.size() == 0) {
      std::fputs("conformance: no case was found; check the folder, --suite and --case\n", stderr);
      return 2;
    }
    fmt::print("{} passed, {} failed\n", report.passed, report.failures.size());
    return report.failures.empty() ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "conformance: {}\n", error.what());
    return 2;
  }
}
