// Text that covers the screen page by page: the help, and wide reports.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/tui/state/state.h"
#include "maskctl/render/text/canvas.h"

namespace maskctl::app::tui {

/// The text that covers the screen now. pages_of() returns nothing if the mask is visible.
struct Pages {
  std::string title;
  std::vector<std::string> lines;
  // For each line, the index of the report's line; empty for the help.
  std::vector<std::size_t> line_of = {};
  std::optional<std::size_t> selected = {};  // line of the report; <Enter> goes to its cell
  Index columns = 0;                         // width on the screen
  Index lines_of_page = 1;

  Index count() const;
};
std::optional<Pages> pages_of(const State& state);

/// Turns pages, or selects lines that lead to a cell. Any other key closes the pages.
void take_page_key(State& state, const Pages& pages, const std::string& key);
void draw_pages(const State& state, const Pages& pages, Canvas& canvas);

}  // namespace maskctl::app::tui
