// Reports about the whole mask: which there are, and their lines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/tui/beside/target.h"
#include "maskctl/mask/cell.h"

namespace maskctl::app::tui {

enum class Report : std::uint8_t {
  kRecognise,
  kCause,
  kStats,
  kCheck,
  kCost,
  kFindings,
  kDocuments
};

/// A line of a report, of any length, and the cell to which it leads.
struct ReportLine {
  std::string text;
  std::optional<Cell> cell = {};
  std::optional<Target> target = {};  // search target of the key n after going to the cell
};

}  // namespace maskctl::app::tui
