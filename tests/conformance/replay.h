// Replaying one suite of golden/masks.
#pragma once

#include <string>
#include <vector>

namespace conformance {

/// Empty parts choose all.
struct Filter {
  std::string suite, id;
};

struct Report {
  std::size_t passed = 0;
  std::vector<std::string> failures;  // one line each
};

/// Replays every chosen case of the manifests in a folder, suite by suite.
Report replay_masks(const std::string& folder, const Filter& filter);

}  // namespace conformance
