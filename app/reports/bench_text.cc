#include "app/reports/bench_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "maskctl/base/text.h"

namespace maskctl::app {
namespace {

constexpr std::size_t kColumns = 10;
using Cells = std::array<std::string, kColumns>;

/// The columns whose cells are numbers.
constexpr std::array<bool, kColumns> kNumbers = {false, false, true, false, false,
                                                 true,  true,  true, true,  true};

std::string rate(double value) { return value > 0 ? fmt::format("{:.2f}", value) : "-"; }

/// "0.52", or where rounds differ in what is printed "0.52 (0.49..0.57)".
std::string ratio_text(const BenchSpread& ratio) {
  const auto text = [](double value) { return fmt::format("{:.2f}", value); };
  const std::string median = text(ratio.median), least = text(ratio.least), most = text(ratio.most);
  if (least == most) return median;
  return fmt::format("{} ({}..{})", median, least, most);
}

Cells cells_of(const BenchLine& line) {
  const BenchSpread& time = line.seconds;
  return {line.operation,
          line.mask,
          std::to_string(line.size),
          line.backend,
          line.pass,
          fmt::format("{:.3f} ({:.0f}%)", time.median * 1e3,
                      100 * (time.most - time.least) / time.median),
          ratio_text(line.ratio),
          rate(line.useful),
          rate(line.executed),
          rate(line.bandwidth)};
}

std::string row_text(const Cells& cells, const std::array<std::size_t, kColumns>& widths) {
  std::string out;
  for (std::size_t i = 0; i < kColumns; ++i) {
    if (i > 0) out += "  ";
    out += kNumbers[i] ? fmt::format("{:>{}}", cells[i], widths[i])
                       : fmt::format("{:<{}}", cells[i], widths[i]);
  }
  return out + "\n";
}

/// A cell of a Markdown table: a bar in a pipeline would end it.
std::string markdown_row(const Cells& cells) {
  std::string out = "|";
  for (const std::string& cell : cells) {
    out += ' ';
    for (const char c : cell) out += c == '|' ? std::string("\\|") : std::string(1, c);
    out += " |";
  }
  return out + "\n";
}

constexpr std::string_view kMeanings =
    "ms: median of the rounds (greatest - least, of it); ratio: to the first line of the "
    "operation, "
    "size and pass, median of the rounds (least..greatest); useful, executed: GFLOP/s of the open "
    "cells, and of all cells that the CPU computes";

}  // namespace

std::string bench_text(const MachineReport& machine, std::span<const BenchLine> lines,
                       bool markdown) {
  std::vector<Cells> rows{{"operation", "mask", "size", "backend", "pass", "ms", "ratio", "useful",
                           "executed", "GB/s"}};
  for (const BenchLine& line : lines) rows.push_back(cells_of(line));
  std::string out =
      fmt::format("{}, {}\n\n", machine.instructions, counted(machine.threads, "thread"));
  std::array<std::size_t, kColumns> widths{};
  for (const Cells& row : rows) {
    for (std::size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    out += markdown ? markdown_row(rows[i]) : row_text(rows[i], widths);
    if (!markdown || i > 0) continue;
    out += '|';
    for (const bool number : kNumbers) out += number ? " ---: |" : " --- |";
    out += '\n';
  }
  return fmt::format("{}\n{}\n", out, kMeanings);
}

}  // namespace maskctl::app
