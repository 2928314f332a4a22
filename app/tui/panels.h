// What the side panel says in words.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/tui/geometry.h"

namespace maskctl::app::tui {

struct SidePanel {
  std::string_view title;
  /// Lines of any length; no lines: the panel is not shown.
  std::vector<std::string> (*lines)(const State& state, const Geometry& geometry) = nullptr;
};

/// From top to bottom.
std::span<const SidePanel> side_panels();

/// "query 17, key 3 is closed by causal: key 3 > query 1", in one line.
std::string why_text(const State& state);

/// "open", "closed", "open, a leak", "only in A".
std::string cell_state(const State& state);

}  // namespace maskctl::app::tui
