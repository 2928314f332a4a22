// User input (keys, mouse, resizing) as text, for scripts and for the table of keys.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/base/index.h"

namespace maskctl::app::tui {

/// One input of the user. `key` is a UTF-8 character, or a name in angle brackets: <Left> <Right>
/// <Up> <Down> <Home> <End> <PageUp> <PageDown> <Enter> <Esc> <Tab> <BS> <Del> <F1> <F10>, <C-a> to
/// <C-z>. Names with a position: <Mouse>, <Drag>, <WheelUp>, <WheelDown>, <Resize>.
struct Input {
  std::string key;
  /// The screen row and column of the mouse, from 0; for <Resize>, the new size of the screen.
  Index row = 0, column = 0;

  friend bool operator==(const Input&, const Input&) = default;
};

inline bool one_of(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

/// The keys that move down and up in a list.
inline constexpr std::array<std::string_view, 3> kDownKeys = {"j", "<Down>", "<WheelDown>"};
inline constexpr std::array<std::string_view, 3> kUpKeys = {"k", "<Up>", "<WheelUp>"};

/// An input that does not come from the user: background work has ended.
inline constexpr std::string_view kDone = "<Done>";

/// Parses a script such as "jj<Right><C-d>:37,4<Enter><Mouse 3,10><Resize 80x24>". A mouse position
/// is row,column, a size is columns x rows; <lt> stands for '<'. <Wait> and line ends are ignored.
/// Throws Error(kInvalidArgument) for a name that is not one of Input's.
std::vector<Input> parse_script(std::string_view script);

/// The inputs as a script, which parse_script() reads back; lines of at most some 80 characters.
std::string script_text(std::span<const Input> inputs);

}  // namespace maskctl::app::tui
