#include "app/tui/screens/help.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/tui/screens/words.h"
#include "app/tui/state/actions.h"
#include "app/tui/state/commands.h"
#include "app/tui/state/filter.h"

namespace maskctl::app::tui {
namespace {

constexpr Index kKeyColumns = 26;

constexpr std::string_view kMouse[][2] = {
    {"click", "the cell under the mouse; in the overview: go there"},
    {"drag", "takes the drawing along; in the overview: go along"},
    {"wheel", "three units up, down"},
};

/// A row of the help. `keys` are the keys to press; or a command to type after ':', or what to
/// search for after '/'.
struct HelpRow {
  std::string keys;
  std::string_view help;
};

std::vector<HelpRow> help_rows() {
  std::vector<HelpRow> out;
  for (const Binding& binding : bindings()) {
    if (binding.help.empty()) {
      out.back().keys += fmt::format(" {}", binding.keys);
    } else {
      out.push_back({std::string(binding.keys), binding.help});
    }
  }
  for (const auto& [what, help] : kMouse) out.push_back({std::string(what), help});
  for (const Command& command : commands()) {
    out.push_back({fmt::format(":{}", command.usage), command.help});
  }
  for (const TargetHelp& target : targets()) {
    out.push_back({fmt::format("/{}", target.name), target.help});
  }
  return out;
}

}  // namespace

std::vector<std::string> help_lines(Index width, std::string_view filter) {
  const Index keys_width = std::min(kKeyColumns, width * 2 / 5);
  std::vector<std::string> out;
  for (const HelpRow& row : help_rows()) {
    if (!passes(fmt::format("{} {}", row.keys, row.help), filter)) continue;
    const auto keys = wrapped(row.keys, keys_width - 1);
    const auto help = wrapped(row.help, width - keys_width);
    for (std::size_t i = 0; i < std::max(keys.size(), help.size()); ++i) {
      const std::string left = i < keys.size() ? keys[i] : "";
      out.push_back(i < help.size() ? fmt::format("{:<{}}{}", left, keys_width, help[i]) : left);
    }
  }
  return out;
}

}  // namespace maskctl::app::tui
