// maskctl cost: what attention under a mask costs.
#include "maskctl/inspect/cost.h"

#include <fmt/format.h>

#include "app/cli/commands.h"
#include "app/cli/load.h"
#include "app/cli/output.h"
#include "app/cli/report.h"

namespace maskctl::app {
namespace {

constexpr Index kPlaneLines = 32;

/// "1.41 TFLOP"
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

constexpr const char* kColumns = "{:<12}{:>13}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}{:>13}\n";

std::string spread_line(const std::string& label, const Spread& spread) {
  const auto& at = spread.quantiles;
  return fmt::format(fmt::runtime(kColumns), label, spread.min, fmt::format("{:.6g}", at[0]),
                     fmt::format("{:.6g}", at[1]), fmt::format("{:.6g}", at[2]),
                     fmt::format("{:.6g}", at[3]), fmt::format("{:.6g}", at[4]), "", "", spread.max);
}

}  // namespace

}  // namespace maskctl::app
