// Judges printed lines: each law takes the lines that match a pattern, and compares them with plain
// cells and numbers. A line without a law is an error.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "inspect/sentences/patterns.h"
#include "maskctl/mask/cell.h"
#include "support/twin.h"

namespace maskctl::test {

using twin::Dense;

struct LineLaw {
  std::string pattern;
  std::function<bool(const std::smatch& parts)> holds;
};

/// Returns the first line that is false or has no law; "" if there is none.
inline std::string wrong_line(const std::string& report, const std::vector<LineLaw>& laws) {
  std::istringstream lines(report);
  for (std::string line; std::getline(lines, line);) {
    std::smatch parts;
    const auto law = std::ranges::find_if(laws, [&](const LineLaw& one) {
      return std::regex_match(line, parts, compiled(one.pattern));
    });
    if (law == laws.end()) return "no law takes: " + line;
    if (!law->holds(parts)) return "false: " + line;
  }
  return "";
}

/// "12,345" as a number; 2^60 if it has too many digits.
inline Index number_said(std::string text) {
  std::erase(text, ',');
  return text.size() > 18 ? Index{1} << 60 : std::stoll(text);
}

/// "12.55 %" of a whole.
inline bool is_percent(const std::string& text, Index part, Index whole) {
  if (whole == 0) return text == "-";
  if (part == 0 || part == whole) return text == (part == 0 ? "0 %" : "100 %");
  const double value = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  if (text == ">99.99 %") return value > 99.99;
  if (value >= 0.01) {
    char two_digits[32];
    std::snprintf(two_digits, sizeof two_digits, "%.2f %%", value);
    return text == two_digits;
  }
  return text.ends_with(" %") && std::abs(std::stod(text) - value) <= value * 0.05;
}

inline Index open_cells(const Dense& cells) {
  return std::ranges::count_if(cells.cells, [](std::uint8_t cell) { return cell != 0; });
}

/// Calls f(cell) for all cells of this shape, by batch, head, query and key.
template <typename F>
void each_cell(const Dense& of, const F& f) {
  for (Index b = 0; b < of.b; ++b)
    for (Index h = 0; h < of.h; ++h)
      for (Index q = 0; q < of.q; ++q)
        for (Index k = 0; k < of.k; ++k) f(Cell{b, h, q, k});
}
inline bool at(const Dense& cells, const Cell& cell) {
  return cells.get(cell.batch, cell.head, cell.query, cell.key);
}

/// The cells for which holds(cell) is true, in order.
template <typename Holds>
std::vector<Cell> cells_where(const Dense& of, const Holds& holds) {
  std::vector<Cell> out;
  each_cell(of, [&](const Cell& cell) {
    if (holds(cell)) out.push_back(cell);
  });
  return out;
}
inline std::vector<Cell> differing(const Dense& a, const Dense& b) {
  return cells_where(a, [&](const Cell& cell) { return at(a, cell) != at(b, cell); });
}
inline Index rows_of(const std::vector<Cell>& cells) {
  std::set<std::tuple<Index, Index, Index>> rows;
  for (const Cell& cell : cells) rows.emplace(cell.batch, cell.head, cell.query);
  return std::ssize(rows);
}

/// The planes of some cells, each once, in order.
inline std::vector<std::pair<Index, Index>> planes_of(const std::vector<Cell>& cells) {
  std::vector<std::pair<Index, Index>> out;
  for (const Cell& cell : cells) {
    const std::pair plane(cell.batch, cell.head);
    if (out.empty() || out.back() != plane) out.push_back(plane);
  }
  return out;
}
/// The planes that a report lists, and how many more it mentions.
struct PlanesTold {
  std::vector<std::pair<Index, Index>> told;
  Index more = 0;

  bool are_first_of(const std::vector<std::pair<Index, Index>>& all) const {
    return std::ssize(told) + more == std::ssize(all) &&
           std::equal(told.begin(), told.end(), all.begin());
  }
};

inline const std::string kCellSaid = R"(batch (\d+), head (\d+), query (\d+), key (\d+))";
/// The cell whose four indices are parts of a match, from part `first` on.
inline Cell cell_said(const std::smatch& parts, std::size_t first) {
  const auto n = [&](std::size_t i) { return number_said(parts[first + i]); };
  return {n(0), n(1), n(2), n(3)};
}

/// "12,345 cells" or "1 cell".
inline const std::string kCellsSaid = R"(([0-9,]+) cells?)";

/// The documents of tokens, as the user gave them: one row for each batch entry, or one for all.
struct GivenIds {
  std::vector<std::vector<Index>> q, k;
  Index pad = -1;

  Index of_query(const Cell& cell) const { return entry(q, cell.batch, cell.query); }
  Index of_key(const Cell& cell) const { return entry(k, cell.batch, cell.key); }
  bool is_padding(const Cell& cell) const { return of_query(cell) == pad || of_key(cell) == pad; }
  bool crosses(const Cell& cell) const {
    return !is_padding(cell) && of_query(cell) != of_key(cell);
  }

 private:
  static Index entry(const std::vector<std::vector<Index>>& rows, Index batch, Index i) {
    return rows[rows.size() == 1 ? 0 : static_cast<std::size_t>(batch)]
               [static_cast<std::size_t>(i)];
  }
};

/// Judges "none", or "12 cells, the first at ...; 4 cells of padding open".
inline bool leaks_hold(const std::string& text, const Dense& cells, const GivenIds& ids) {
  static const std::regex form("(?:none|" + kCellsSaid + ", the first at " + kCellSaid + ")(?:; " +
                               kCellsSaid + " of padding open)?");
  std::smatch m;
  if (!std::regex_match(text, m, form)) return false;
  const auto leaks =
      cells_where(cells, [&](const Cell& c) { return at(cells, c) && ids.crosses(c); });
  const auto padding =
      cells_where(cells, [&](const Cell& c) { return at(cells, c) && ids.is_padding(c); });
  if (m[1].matched != !leaks.empty() || m[6].matched != !padding.empty()) return false;
  return (!m[1].matched ||
          (number_said(m[1]) == std::ssize(leaks) && cell_said(m, 2) == leaks[0])) &&
         (!m[6].matched || number_said(m[6]) == std::ssize(padding));
}

/// Judges "query in document 3, key is padding" or "both in document 2" for one cell.
inline bool documents_hold(const std::string& text, const Cell& cell, const GivenIds& ids) {
  const Index q = ids.of_query(cell), k = ids.of_key(cell);
  const auto side = [&](const char* name, Index id) {
    return std::string(name) +
           (id == ids.pad ? " is padding" : " in document " + std::to_string(id));
  };
  if (q != k) return text == side("query", q) + ", " + side("key", k);
  return text == (q == ids.pad ? "both are padding" : "both in document " + std::to_string(q));
}

}  // namespace maskctl::test
