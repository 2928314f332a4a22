// Replays folders of golden data.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace conformance {

/// Which cases to replay; an empty member chooses all.
struct Filter {
  std::string suite, id;
  std::string backend;  // for golden/ops only
};

struct Report {
  std::size_t passed = 0;
  std::vector<std::string> failures;  // one line for each failed case
};

/// Calls `replay_one` for the chosen manifests (.json) of a folder, in order; if it throws, that is
/// a failure.
Report replay_manifests(
    const std::string& folder, const Filter& filter,
    const std::function<void(const std::string& manifest, Report& report)>& replay);

/// Replays every chosen case of golden/masks.
Report replay_masks(const std::string& folder, const Filter& filter);
/// Replays every chosen case of golden/ops on all backends that can run here, or on the chosen one.
Report replay_ops(const std::string& folder, const Filter& filter);

}  // namespace conformance
