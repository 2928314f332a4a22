// Text that covers the screen, a page at a time: the help, and wide reports.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/tui/state.h"
#include "maskctl/render/text/canvas.h"

namespace maskctl::app::tui {

/// What covers the screen now; nothing: the mask is seen.
struct Pages {
  std::string title;
  std::vector<std::string> lines;
  std::vector<std::size_t> line_of = {};     // of the report, for each line; empty for the help
  std::optional<std::size_t> selected = {};  // of the report: <Enter> goes where it leads
  Index columns = 0;                         // of the screen that they cover
  Index lines_of_page = 1;

  Index count() const;
};
std::optional<Pages> pages_of(const State& state);

/// Turns the pages, walks the lines that lead somewhere, or closes them with any other key.
void take_page_key(State& state, const Pages& pages, const std::string& key);
void draw_pages(const State& state, const Pages& pages, Canvas& canvas);

}  // namespace maskctl::app::tui
