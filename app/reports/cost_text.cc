// The text form of cost.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/reports/figures.h"
#include "app/reports/report.h"
#include "maskctl/base/grouped.h"
#include "maskctl/inspect/count/cost.h"

namespace maskctl::app {
namespace {

/// A number of floating-point operations, such as "1.41 TFLOP".
std::string flops_text(double flops) {
  static constexpr const char* kUnits[] = {"", "k", "M", "G", "T", "P", "E", "Z", "Y"};
  std::size_t unit = 0;
  for (; flops >= 999.995 && unit + 1 < std::size(kUnits); flops /= 1000) ++unit;
  return fmt::format("{:.{}f} {}FLOP", flops, unit == 0 ? 0 : 2, kUnits[unit]);
}

std::string ratio_text(const std::optional<double>& ratio) {
  return ratio ? fmt::format("{:.3f}", *ratio) : "-";
}

std::string block_name(BlockSize size) { return fmt::format("{}x{}", size.q, size.k); }

std::string head_text(const Mask& mask, const Cost& cost) {
  std::string out = fmt::format("{:<12}{}, {} {} of {}\n", "shape", shape_text(mask), cost.heads,
                                cost.heads == 1 ? "head" : "heads", cost.head_dim);
  out += fmt::format("{:<12}{} of {}: {}\n", "pairs", grouped(cost.pairs), grouped(cost.cells),
                     percent(cost.pairs, cost.cells));
  out += fmt::format("{:<12}{} forward, {} backward\n", "useful", flops_text(cost.useful.forward),
                     flops_text(cost.useful.backward));
  return out;
}

/// With two decimals unless it is whole: "8.50", "8".
std::string number_text(double value) {
  const bool whole = value == std::floor(value);
  return fmt::format("{:.{}f}", value, whole ? 0 : 2);
}

std::string spread_line(const std::string& label, const Spread& spread) {
  std::string out = fmt::format("  {:<14} {:>9}", label, spread.min);
  for (const double value : spread.quantiles) out += fmt::format(" {:>9}", number_text(value));
  return out + fmt::format(" {:>9} {:>9}\n", spread.max, number_text(spread.mean));
}

/// A line for each batch and head, but only the first kMostPlaneLines of them.
std::string spreads_text(const Mask& mask, const Cost& cost) {
  std::string out =
      fmt::format("{:<16} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}\n", "distribution", "min",
                  "5 %", "25 %", "median", "75 %", "95 %", "max", "mean");
  out += spread_line("keys per row", cost.keys_per_row);
  if (cost.planes.size() < 2) return out;
  out += spread_line("pairs per head", cost.pairs_per_head);
  const Index all = mask.batch() * mask.heads();
  for (Index i = 0; i < std::min(all, kMostPlaneLines); ++i) {
    const Index b = i / mask.heads();
    const Index h = i % mask.heads();
    out += spread_line(fmt::format("batch {} head {}", b, h),
                       cost.planes[mask.index_of(b, h)].keys_per_row);
  }
  if (all > kMostPlaneLines)
    out += fmt::format("  ... {} more; --json lists all\n", all - kMostPlaneLines);
  return out;
}

std::string blocks_text(const Cost& cost) {
  std::size_t width = 12;
  for (const BlockCost& block : cost.blocks) {
    width = std::max(width, grouped(block.tiles.empty).size() + 1);
  }
  std::string out =
      fmt::format("{:<12}{:>{}}{:>{}}{:>{}}{:>9}{:>14}{:>14}{:>11}\n", "tiles", "empty", width,
                  "partial", width, "full", width, "waste", "forward", "backward", "map");
  for (const BlockCost& block : cost.blocks) {
    out += fmt::format("  {:<10}{:>{}}{:>{}}{:>{}}{:>9}{:>14}{:>14}{:>11}\n",
                       block_name(block.tiles.size), grouped(block.tiles.empty), width,
                       grouped(block.tiles.partial), width, grouped(block.tiles.full), width,
                       ratio_text(block.waste), flops_text(block.executed.forward),
                       flops_text(block.executed.backward), bytes_text(block.map_bytes));
  }
  if (cost.best) {
    out += fmt::format("best: {}, the least executed cells * (1 + 32 / q + 32 / k)\n",
                       block_name(cost.blocks[*cost.best].tiles.size));
  }
  return out;
}

std::string forms_text(const Cost& cost) {
  std::string out = "bytes\n";
  for (const FormBytes& form : cost.forms) {
    out += fmt::format("  {:<14}{:>12}{}\n", form.form, form.bytes ? bytes_text(*form.bytes) : "-",
                       !form.bytes        ? "  cannot hold this mask"
                       : form.with_causal ? "  with causal added by the kernel"
                                          : "");
  }
  return out;
}

std::string balance_text(const Cost& cost) {
  std::string out = fmt::format("{:<12}{:>16}{:>16}{:>12}\n",
                                fmt::format("{} ranks", cost.balance.front().pairs.size()),
                                "least pairs", "most pairs", "most/mean");
  for (const Balance& balance : cost.balance) {
    const auto [least, most] = std::ranges::minmax(balance.pairs);
    out += fmt::format("  {:<10}{:>16}{:>16}{:>12}\n", name(balance.split), grouped(least),
                       grouped(most), ratio_text(balance.imbalance));
  }
  return out;
}

}  // namespace

void drop_larger_blocks(std::vector<BlockSize>& blocks, const Mask& mask) {
  const Index most = std::max(mask.queries(), mask.keys());
  const auto enough = std::ranges::find_if(
      blocks, [&](const BlockSize& block) { return std::min(block.q, block.k) >= most; });
  if (enough != blocks.end()) blocks.erase(enough + 1, blocks.end());
}

std::string cost_text(const Mask& mask, const Cost& cost) {
  return fmt::format("{}\n{}\n{}\n{}\n{}", head_text(mask, cost), spreads_text(mask, cost),
                     blocks_text(cost), forms_text(cost), balance_text(cost));
}

}  // namespace maskctl::app
