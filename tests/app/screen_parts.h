// The parts of the inspector's screens that a golden case is about, so that a panel that changes
// changes few cases.
#pragma once

#include <algorithm>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace maskctl::test {

/// Screens as --dump - prints them, without the panels beside the mask but for those that are
/// named, which follow their screen; "Overview" names the drawing above the first. What has no
/// panels beside a framed mask stays as it is.
class ScreenParts {
 public:
  explicit ScreenParts(const std::string& screens) {
    std::istringstream in(screens);
    for (std::string line; std::getline(in, line);) lines_.push_back(characters(line));
    column_.resize(lines_.size());
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      if (const auto column = column_behind_frame(lines_[i])) mark(i, *column);
    }
  }

  /// The screens with the panels of these names. Notes in `seen` which of them were there.
  std::string with(const std::set<std::string>& names, std::set<std::string>& seen) const {
    std::string out, panels, panel;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      const Line& line = lines_[i];
      out += text(line, 0, column_[i].value_or(line.size()));
      if (!column_[i]) continue;
      if (i == 0 || column_[i - 1] != column_[i]) panel = "Overview";
      const std::string beside = text(line, *column_[i] + 1, line.size());
      if (beside.size() > 2 && 'A' <= beside[1] && beside[1] <= 'Z')
        panel = beside.substr(1, beside.size() - 2);
      if (names.contains(panel)) {
        seen.insert(panel);
        panels += "|" + beside;
      }
      if (i + 1 == lines_.size() || column_[i + 1] != column_[i]) out += std::exchange(panels, "");
    }
    return out;
  }

 private:
  using Line = std::vector<std::string>;  // characters of UTF-8

  static Line characters(const std::string& line) {
    Line out;
    for (const char c : line) {
      const bool continues = (static_cast<unsigned char>(c) & 0xC0) == 0x80;
      if (continues && !out.empty()) {
        out.back() += c;
      } else {
        out.emplace_back(1, c);
      }
    }
    return out;
  }
  /// Characters [begin, end) without spaces at the end, and a line break.
  static std::string text(const Line& line, std::size_t begin, std::size_t end) {
    std::string out;
    for (std::size_t i = begin; i < std::min(end, line.size()); ++i) out += line[i];
    out.erase(out.find_last_not_of(' ') + 1);
    return out + '\n';
  }
  /// The column of the line between mask and panels, where a corner of a frame is before it.
  static std::optional<std::size_t> column_behind_frame(const Line& line) {
    std::optional<std::size_t> out;
    bool framed = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (line[i] == "┐" || line[i] == "┘") framed = true, out.reset();
      if (framed && !out && line[i] == "│") out = i;
    }
    return out;
  }
  /// Notes the column in all lines around line `i` that have it.
  void mark(std::size_t i, std::size_t column) {
    const auto has = [&](std::size_t n) {
      return column < lines_[n].size() && lines_[n][column] == "│";
    };
    for (std::size_t n = i; has(n); --n) {
      column_[n] = column;
      if (n == 0) break;
    }
    for (std::size_t n = i; n < lines_.size() && has(n); ++n) column_[n] = column;
  }

  std::vector<Line> lines_;
  std::vector<std::optional<std::size_t>> column_;  // where each line has one
};

}  // namespace maskctl::test
