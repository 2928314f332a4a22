// Keys, clicks and changes of size, as text: what scripts hold and the table of keys names.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/base/index.h"

namespace maskctl::app::tui {

/// One thing that a person does. `key` is a character in UTF-8, or a name in angle brackets:
/// <Left> <Right> <Up> <Down> <Home> <End> <PageUp> <PageDown> <Enter> <Esc> <Tab> <BS> <Del> <F1>
/// <F10>,
/// <C-a> to <C-z>, and those with a position: <Mouse>, <Drag>, <WheelUp>, <WheelDown>, <Resize>.
struct Input {
  std::string key;
  /// The character on the screen that the mouse points at; the new size for <Resize>.
  Index row = 0, column = 0;

  friend bool operator==(const Input&, const Input&) = default;
};

inline bool one_of(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

/// Not from a person: a report is finished.
inline constexpr std::string_view kDone = "<Done>";

/// Reads a script such as "jj<Right><C-d>:37,4<Enter><Mouse 3,10><Resize 80x24>": the places of the
/// mouse are row,column, a size is columns x rows, <lt> is a '<'. <Wait> and line ends are left
/// out. Throws Error(kInvalidArgument) for a name that is not one of Input's.
std::vector<Input> parse_script(std::string_view script);

}  // namespace maskctl::app::tui
