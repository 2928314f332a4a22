// The texts of the side panel.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/tui/state/geometry.h"

namespace maskctl::app::tui {

struct SidePanel {
  std::string_view title;
  /// The lines of a panel, of any length. If there are none, the panel is not shown.
  std::vector<std::string> (*lines)(const State& state, const Geometry& geometry) = nullptr;
};

/// Returns all parts of the side panel, from top to bottom.
std::span<const SidePanel> side_panels();

/// One line about the cell under the cursor, such as "query 17, key 3 is closed by causal: key 3 >
/// query 1".
std::string why_text(const State& state);

/// The state of the cell under the cursor: "open", "closed", "open, a leak", "only in A".
std::string cell_state(const State& state);

}  // namespace maskctl::app::tui
