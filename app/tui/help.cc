#include "app/tui/help.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/tui/actions.h"

namespace maskctl::app::tui {
namespace {

constexpr Index kWidth = 96;

/// The first and the last line of the screen say what the overlay is.
Index lines_of_page(const State& state) { return std::max<Index>(state.screen.rows - 2, 1); }

}  // namespace

Index help_pages(const State& state) {
  return ceil_div(std::ssize(help_lines()), lines_of_page(state));
}

void draw_help(const State& state, Canvas& canvas) {
  const auto lines = help_lines();
  const Index page = lines_of_page(state), pages = help_pages(state);
  const Index width = std::min(canvas.columns(), kWidth);
  Canvas overlay(std::min(canvas.rows(), page + 2), width);
  const Glyph head{.reverse = true};
  overlay.write(0, 0, fmt::format("{:<{}}", fmt::format(" Keys, page {} of {}", state.help_page, pages), width),
                head);
  const Index begin = (state.help_page - 1) * page;
  for (Index i = begin; i < std::min<Index>(begin + page, std::ssize(lines)); ++i) {
    overlay.write(1 + i - begin, 1, lines[as_size(i)]);
  }
  const char* more = state.help_page < pages ? " ? next page, any other key back" : " any key: back";
  overlay.write(overlay.rows() - 1, 0, fmt::format("{:<{}}", more, width), head);
  canvas.paste(0, 0, overlay);
}

}  // namespace maskctl::app::tui
