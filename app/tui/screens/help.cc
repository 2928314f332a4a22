#include "app/tui/screens/help.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/tui/screens/words.h"
#include "app/tui/state/actions.h"

namespace maskctl::app::tui {
namespace {

constexpr Index kKeyColumns = 26;

}  // namespace

std::vector<std::string> help_lines(Index width) {
  const Index keys_width = std::min(kKeyColumns, width * 2 / 5);
  std::vector<std::string> out;
  for (const HelpRow& row : help_rows()) {
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
