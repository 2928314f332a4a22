// The text form of stats.
#include <fmt/format.h>

#include <algorithm>

#include "app/reports/figures.h"
#include "app/reports/report.h"
#include "maskctl/base/grouped.h"
#include "maskctl/base/text.h"
#include "maskctl/inspect/count/equal_planes.h"
#include "maskctl/inspect/count/stats.h"

namespace maskctl::app {
namespace {

std::string columns_text(const PlaneStats& stats, Index columns) {
  if (!stats.empty_columns)
    return fmt::format("{}: too many to mark the empty ones", grouped(columns));
  return fmt::format("{}: {} empty", grouped(columns), grouped(*stats.empty_columns));
}

std::string blocks_text(const PlaneStats& stats) {
  std::size_t width = 12;
  for (const BlockStats& block : stats.blocks) {
    width = std::max(width, grouped(block.executed).size() + 2);
  }
  const auto line = [width](std::string_view name, const auto&... cells) {
    return fmt::format("{:<12}", name) + (fmt::format("{:>{}}", cells, width) + ...) + "\n";
  };
  std::string out = line("tiles", "empty", "partial", "full", "executed", "waste");
  for (const BlockStats& block : stats.blocks) {
    const std::string waste = stats.open == 0
                                  ? "-"
                                  : fmt::format("{:.3f}", static_cast<double>(block.executed) /
                                                              static_cast<double>(stats.open));
    out += line(fmt::format("  {}x{}", block.size.q, block.size.k), grouped(block.empty),
                grouped(block.partial), grouped(block.full), grouped(block.executed), waste);
  }
  return out;
}

/// A line for each batch and head, but only the first kMostPlaneLines of them.
std::string planes_text(const Mask& mask, const Stats& stats) {
  std::string out =
      fmt::format("{:<12}{:>12}{:>12}{:>12}{:>12}{:>12}{:>12}\n", "batch head", "density",
                  "empty rows", "full rows", "min keys", "median", "max keys");
  Index lines = 0;
  const Index all = mask.batch() * mask.heads();
  for (Index i = 0; i < all && lines < kMostPlaneLines; ++i, ++lines) {
    const Index b = i / mask.heads();
    const Index h = i % mask.heads();
    const PlaneStats& plane = stats.planes[mask.index_of(b, h)];
    out +=
        fmt::format("  {:<10}{:>12}{:>12}{:>12}{:>12}{:>12}{:>12}\n",
                    fmt::format("{:>3} {:>4}", b, h), percent(plane.open, plane.rows * mask.keys()),
                    grouped(plane.empty_rows), grouped(plane.full_rows), grouped(plane.min_keys),
                    plane.median_keys, grouped(plane.max_keys));
  }
  if (lines < all) out += fmt::format("  ... {} more; --json lists all\n", all - lines);
  return out;
}

}  // namespace

std::string stats_text(const Mask& mask, const Stats& stats, const std::optional<Leaks>& leaks) {
  const PlaneStats& total = stats.total;
  const Index planes = mask.batch() * mask.heads();
  std::string out = fmt::format("{:<12}{}", "shape", shape_text(mask));
  if (planes > 1) {
    out += fmt::format(", {} of {} planes distinct", different_planes(mask), planes);
  }
  out += fmt::format("\n{:<12}{}: {} of {} open\n", "density", percent(total.open, mask.cells()),
                     grouped(total.open), counted(mask.cells(), "cell"));
  out +=
      fmt::format("{:<12}{}: {} empty, {} full; keys per row: min {}, median {}, max {}\n", "rows",
                  grouped(total.rows), grouped(total.empty_rows), grouped(total.full_rows),
                  grouped(total.min_keys), total.median_keys, grouped(total.max_keys));
  out += fmt::format("{:<12}{}\n", "columns", columns_text(total, planes * mask.keys()));
  if (leaks) out += fmt::format("{:<12}{}\n", "leaks", leaks_text(*leaks));
  out += "\n";
  out += blocks_text(total);
  out += "executed = cells of non-empty tiles; waste = executed / open cells\n";
  if (stats.planes.size() > 1) out += fmt::format("\n{}", planes_text(mask, stats));
  return out;
}

}  // namespace maskctl::app
