#include "app/tui/screens/pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "app/tui/beside/report_rows.h"
#include "app/tui/screens/help.h"
#include "app/tui/screens/words.h"
#include "app/tui/state/filter.h"
#include "app/tui/state/input.h"
#include "app/tui/state/prompt.h"
#include "maskctl/base/printable.h"
#include "maskctl/render/figure/words.h"

namespace maskctl::app::tui {
namespace {

constexpr Index kMostColumns = 120, kHintColumns = 40;
constexpr std::array<std::string_view, 8> kNextKeys = {"?",     "<F1>", " ",      "<PageDown>",
                                                       "<C-f>", "j",    "<Down>", "<WheelDown>"};
constexpr std::array<std::string_view, 5> kPreviousKeys = {"<PageUp>", "<C-b>", "k", "<Up>",
                                                           "<WheelUp>"};

/// The lines of the report that the filter leaves; for findings, also a line for each mark that the
/// user has set.
std::vector<ReportLine> lines_of(const State& state) {
  std::vector<ReportLine> out = state.report->lines;
  if (state.report->kind == Report::kFindings) {
    for (const auto& [letter, view] : state.marks) {
      const Cell cell{view.batch, view.head, view.cursor.query, view.cursor.key};
      out.push_back({fmt::format("mark {}: {}", letter, cell_text(cell)), cell});
    }
  }
  std::erase_if(out, [&](const ReportLine& line) { return !passes(line.text, state.filter); });
  return out;
}

/// Adds lines to the pages. Lines that are too long are wrapped, with the indentation of their
/// first line.
void add_fitted(const std::vector<ReportLine>& lines, Index width, Pages& out) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string text = printable(lines[i].text, kUncut);
    std::vector<std::string> parts{text};
    const std::string indent(std::min(text.find_first_not_of(' '), text.size()), ' ');
    if (utf8_length(text) > width) {
      parts = wrapped(text.substr(indent.size()), width - std::ssize(indent));
      for (std::string& part : parts) part = indent + part;
    }
    for (std::string& part : parts) {
      out.lines.push_back(std::move(part));
      out.line_of.push_back(i);
    }
  }
}

/// The nearest line, starting at `from` and in this direction, that leads to a cell.
std::optional<std::size_t> leading_line(const std::vector<ReportLine>& lines, Index from,
                                        Index step) {
  for (Index i = from; i >= 0 && i < std::ssize(lines); i += step) {
    if (lines[as_size(i)].cell) return as_size(i);
  }
  return std::nullopt;
}

/// Text padded with blanks to the full width.
std::string bar(std::string_view text, Index columns) {
  return fmt::format(" {:<{}}", text, columns - 1);
}

}  // namespace

Index Pages::count() const {
  return std::max<Index>(ceil_div(std::ssize(lines), lines_of_page), 1);
}

std::optional<Pages> pages_of(const State& state) {
  const bool report = state.report && state.report->done && !state.report->hidden &&
                      (state.report->whole || report_row(state.report->kind).wide);
  const bool free = state.prompt == Prompt::kNone || state.prompt == Prompt::kPageFilter;
  if ((!state.help && !report) || !free) return std::nullopt;
  Pages out;
  out.columns = std::min(state.screen.columns, kMostColumns);
  out.title = state.help ? "Keys" : std::string(report_row(state.report->kind).title);
  if (state.help) {
    out.lines = help_lines(out.columns - 2, state.filter);
  } else {
    const auto lines = lines_of(state);
    add_fitted(lines, out.columns - 2, out);
    const Index at = std::min<Index>(static_cast<Index>(state.report->selected),
                                     std::max<Index>(std::ssize(lines) - 1, 0));
    out.selected = leading_line(lines, at, 1);
    if (!out.selected) out.selected = leading_line(lines, at, -1);
  }
  if (out.lines.empty() && !state.filter.empty()) {
    out.lines = {fmt::format("no line has {}", printable(state.filter, kUncut))};
    out.line_of = {0};
  }
  // The first and the last line of the screen are used for a title and hints.
  out.lines_of_page =
      std::clamp<Index>(std::ssize(out.lines), 1, std::max<Index>(state.screen.rows - 2, 1));
  return out;
}

namespace {

/// The index of the page with the selected line.
Index page_of_selected(const Pages& pages) {
  const auto at = std::ranges::find(pages.line_of, *pages.selected);
  return (at - pages.line_of.begin()) / pages.lines_of_page;
}

Index page_of(const State& state, const Pages& pages) {
  if (pages.selected) return page_of_selected(pages);
  return std::clamp<Index>(state.page, 0, pages.count() - 1);
}

/// Goes to the cell to which a line of the report leads.
void follow_line(State& state, const ReportLine& line) {
  const auto& [batch, head, query, key] = *line.cell;
  state.view.batch = batch;
  state.view.head = head;
  state.view.cursor = {query, key};
  state.list.chosen = true;
  state.list.shown = false;
  state.report->hidden = true;
  if (!line.target) return;
  state.target = std::ranges::find(targets(), *line.target, &TargetHelp::target)->name;
}

/// Selects another line that leads to a cell, or goes to the cell; false for other keys.
bool take_line_key(State& state, const Pages& pages, const std::string& key) {
  const auto lines = lines_of(state);
  const auto selected = static_cast<Index>(*pages.selected);
  std::optional<std::size_t> next;
  if (key == "<Enter>") {
    follow_line(state, lines[*pages.selected]);
    return true;
  }
  if (key == "g" || key == "<Home>") {
    next = leading_line(lines, 0, 1);
  } else if (key == "G" || key == "<End>") {
    next = leading_line(lines, std::ssize(lines) - 1, -1);
  } else if (one_of(kDownKeys, key)) {
    next = leading_line(lines, selected + 1, 1);
  } else if (one_of(kUpKeys, key)) {
    next = leading_line(lines, selected - 1, -1);
  } else if (one_of(kNextKeys, key) || one_of(kPreviousKeys, key)) {
    const Index step = one_of(kNextKeys, key) ? 1 : -1;
    const Index page = std::clamp<Index>(page_of_selected(pages) + step, 0, pages.count() - 1);
    const auto first = static_cast<Index>(pages.line_of[as_size(page * pages.lines_of_page)]);
    next = leading_line(lines, first, 1);
  } else {
    return false;
  }
  state.report->selected = next.value_or(*pages.selected);
  return true;
}

}  // namespace

void take_page_key(State& state, const Pages& pages, const std::string& key) {
  if (key == "/") return open_prompt(state, Ask::kPageFilter);
  if (key == "<Esc>" && !state.filter.empty()) return state.filter.clear();
  if (pages.selected && take_line_key(state, pages, key)) return;
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
  const Index page = page_of(state, pages);
  const Index begin = page * pages.lines_of_page;
  const Index end = std::min<Index>(begin + pages.lines_of_page, std::ssize(pages.lines));
  const bool last = page + 1 == pages.count();
  Canvas overlay(pages.lines_of_page + 2, pages.columns);
  const Glyph head{.reverse = true};
  overlay.write(
      0, 0, bar(fmt::format("{} {} of {}", pages.title, page + 1, pages.count()), pages.columns),
      head);
  for (Index i = begin; i < end; ++i) {
    const bool selected = pages.selected && pages.line_of[as_size(i)] == *pages.selected;
    const std::string& text = pages.lines[as_size(i)];
    if (selected) overlay.write(1 + i - begin, 0, bar(text, pages.columns), head);
    if (!selected) overlay.write(1 + i - begin, 1, text);
  }
  const bool narrow = pages.columns < kHintColumns;
  std::string hints = pages.selected
                          ? "j k select  <Enter> go there  / filter  <Space> more  <Esc> back"
                      : last   ? "/ filter, any other key: back"
                      : narrow ? "<Space>: more, others: back"
                               : "<Space>: more, /: filter, others: back";
  if (state.prompt == Prompt::kPageFilter) {
    hints = fmt::format("/{}_", printable(state.filter, kUncut));
  } else if (!state.filter.empty()) {
    hints = fmt::format("/{}  <Esc> all lines  {}", printable(state.filter, kUncut), hints);
  }
  overlay.write(pages.lines_of_page + 1, 0, bar(hints, pages.columns), head);
  canvas.paste(0, 0, overlay);
}

}  // namespace maskctl::app::tui
