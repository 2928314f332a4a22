#include "maskctl/render/text/term.h"

#include <algorithm>

namespace maskctl {

Style choose_style(Style requested, const TerminalTraits& traits) {
  return requested == Style::kAuto && !traits.utf8 ? Style::kAscii : requested;
}

DrawOptions options_for(const TerminalTraits& traits) {
  DrawOptions options;
  options.style = choose_style(Style::kAuto, traits);
  options.max_rows = std::max<Index>(traits.rows - 1, 1);
  options.max_columns = std::max<Index>(traits.columns, 1);
  options.color = traits.color;
  return options;
}

}  // namespace maskctl
