#include "app/tui/help.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/tui/actions.h"
#include "app/tui/words.h"

namespace maskctl::app::tui {
namespace {

constexpr Index kMostColumns = 96;
constexpr Index kKeyColumns = 26;

Index columns_of(const State& state) { return std::min(state.screen.columns, kMostColumns); }

/// The first and the last line of the screen say what the overlay is.
Index lines_of_page(const State& state) { return std::max<Index>(state.screen.rows - 2, 1); }

/// A line from border to border.
std::string bar(const std::string& text, Index columns) {
  return fmt::format(" {:<{}}", text, columns - 1);
}

}  // namespace

std::vector<std::string> help_lines(Index width) {
  const Index keys_width = std::min(kKeyColumns, width * 2 / 5);
  std::vector<std::string> out;
  for (const HelpRow& row : help_rows()) {
    const auto keys = wrapped(row.keys, keys_width - 1);
    const auto help = wrapped(row.help, width - keys_width);
    for (std::size_t i = 0; i < std::max(keys.size(), help.size()); ++i) {
      const std::string left = i < keys.size() ? keys[i] : "";
      out.push_back(i < help.size() ? fmt::format("{:<{}}{}", left, keys_width, help[i]) : left);
    }
  }
  return out;
}

Index help_pages(const State& state) {
  return ceil_div(std::ssize(help_lines(columns_of(state) - 2)), lines_of_page(state));
}

void draw_help(const State& state, Canvas& canvas) {
  const Index columns = columns_of(state), page = lines_of_page(state);
  const auto lines = help_lines(columns - 2);
  const Index begin = (state.help_page - 1) * page;
  const Index end = std::min<Index>(begin + page, std::ssize(lines));
  const bool last = end == std::ssize(lines);
  Canvas overlay(page + 2, columns);
  const Glyph head{.reverse = true};
  overlay.write(
      0, 0, bar(fmt::format("Keys {} of {}", state.help_page, help_pages(state)), columns), head);
  for (Index i = begin; i < end; ++i) overlay.write(1 + i - begin, 1, lines[as_size(i)]);
  overlay.write(page + 1, 0, bar(last ? "any key: back" : "?: more, others: back", columns), head);
  canvas.paste(0, 0, overlay);
}

}  // namespace maskctl::app::tui
