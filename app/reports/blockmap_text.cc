// The text form of blockmap's result.
#include <fmt/format.h>

#include <algorithm>

#include "app/reports/report.h"

namespace maskctl::app {
namespace {

std::string figure_line(std::string_view label, std::string_view value) {
  return fmt::format("{:<22}{}\n", label, value);
}

std::string counts_text(const BlockmapReport& report) {
  constexpr std::size_t kHeadLines = 32;
  std::string out = fmt::format("{:<10}{:>12}{:>12}{:>12}\n", "head", "empty", "partial", "full");
  const auto heads = static_cast<std::size_t>(report.mask.heads());
  for (std::size_t i = 0; i < std::min(report.heads.size(), kHeadLines); ++i) {
    const BlockCounts& counts = report.heads[i];
    const std::string head = report.heads.size() == heads
                                 ? fmt::format("{}", i)
                                 : fmt::format("{}, {}", i / heads, i % heads);
    out +=
        fmt::format("  {:<8}{:>12}{:>12}{:>12}\n", head, counts.empty, counts.partial, counts.full);
  }
  if (report.heads.size() > kHeadLines) {
    out += fmt::format("  ... {} more; --json lists all\n", report.heads.size() - kHeadLines);
  }
  return out;
}

}  // namespace

std::string blockmap_text(const BlockmapReport& report) {
  std::string out = figure_line("shape", shape_text(report.mask));
  out += figure_line("block", fmt::format("{}x{}{}", report.block.q, report.block.k,
                                          report.dkv ? ", by key blocks (dkv)" : ""));
  out += counts_text(report) + "\n";
  for (const ArrayReport& array : report.arrays) {
    out += figure_line(
        array.name,
        array.dtype.empty() ? "none" : fmt::format("{} {}", array.dtype, shape_text(array.shape)));
  }
  return out;
}

}  // namespace maskctl::app
