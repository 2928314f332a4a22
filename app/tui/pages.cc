#include "app/tui/pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "app/tui/help.h"
#include "app/tui/input.h"
#include "app/tui/report_rows.h"
#include "app/tui/words.h"
#include "maskctl/render/figure/words.h"

namespace maskctl::app::tui {
namespace {

constexpr Index kMostColumns = 120;
constexpr std::array<std::string_view, 8> kNextKeys = {"?",     "<F1>", " ",      "<PageDown>",
                                                       "<C-f>", "j",    "<Down>", "<WheelDown>"};
constexpr std::array<std::string_view, 5> kPreviousKeys = {"<PageUp>", "<C-b>", "k", "<Up>",
                                                           "<WheelUp>"};

/// Lines of a report that are too long go on below, as far in as they begin.
std::vector<std::string> fitted(const std::vector<std::string>& lines, Index width) {
  std::vector<std::string> out;
  for (const std::string& line : lines) {
    const std::string text = readable_text(line);
    if (utf8_length(text) <= width) {
      out.push_back(text);
      continue;
    }
    const std::string indent(std::min(text.find_first_not_of(' '), text.size()), ' ');
    for (const std::string& part :
         wrapped(text.substr(indent.size()), width - std::ssize(indent))) {
      out.push_back(indent + part);
    }
  }
  return out;
}

/// A line from border to border.
std::string bar(const std::string& text, Index columns) {
  return fmt::format(" {:<{}}", text, columns - 1);
}

}  // namespace

Index Pages::count() const {
  return std::max<Index>(ceil_div(std::ssize(lines), lines_of_page), 1);
}

std::optional<Pages> pages_of(const State& state) {
  const bool report = state.report && state.report->done &&
                      (state.report->whole || report_row(state.report->kind).wide);
  if ((!state.help && !report) || state.prompt != Prompt::kNone) return std::nullopt;
  Pages out;
  out.columns = std::min(state.screen.columns, kMostColumns);
  out.title = state.help ? "Keys" : std::string(report_row(state.report->kind).title);
  out.lines =
      state.help ? help_lines(out.columns - 2) : fitted(state.report->lines, out.columns - 2);
  // The first and the last line of what is covered say what covers it.
  out.lines_of_page =
      std::clamp<Index>(std::ssize(out.lines), 1, std::max<Index>(state.screen.rows - 2, 1));
  return out;
}

void take_page_key(State& state, const Pages& pages, const std::string& key) {
  const Index step = one_of(kNextKeys, key) ? 1 : one_of(kPreviousKeys, key) ? -1 : 0;
  const Index page = std::clamp<Index>(state.page, 0, pages.count() - 1) + step;
  if (step != 0 && page < pages.count()) {
    state.page = std::max<Index>(page, 0);
    return;
  }
  if (!state.help) state.report.reset();
  state.help = false;
}

void draw_pages(const State& state, const Pages& pages, Canvas& canvas) {
  const Index page = std::clamp<Index>(state.page, 0, pages.count() - 1);
  const Index begin = page * pages.lines_of_page;
  const Index end = std::min<Index>(begin + pages.lines_of_page, std::ssize(pages.lines));
  const bool last = page + 1 == pages.count();
  Canvas overlay(pages.lines_of_page + 2, pages.columns);
  const Glyph head{.reverse = true};
  overlay.write(
      0, 0, bar(fmt::format("{} {} of {}", pages.title, page + 1, pages.count()), pages.columns),
      head);
  for (Index i = begin; i < end; ++i) overlay.write(1 + i - begin, 1, pages.lines[as_size(i)]);
  overlay.write(pages.lines_of_page + 1, 0,
                bar(last ? "any key: back" : "<Space>: more, others: back", pages.columns), head);
  canvas.paste(0, 0, overlay);
}

}  // namespace maskctl::app::tui
