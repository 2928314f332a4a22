// Replaces terminal.cc in a build without curses, which draws the inspector into files only.
#include "app/tui/terminal.h"
#include "maskctl/base/error.h"

namespace maskctl::app::tui {

struct Terminal::Curses {};

Terminal::Terminal(const TerminalOptions& options, std::stop_token)  // NOLINT: as terminal.cc
    : record_(options.record) {
  throw Error(
      Errc::kUnsupported,
      "no terminal to draw on, because this maskctl was built without curses; maskctl show, "
      "and tui --dump FILE, draw without one",
      {{Remedy::kBuildWith, "MASKCTL_TUI"}});
}

// Nothing below is called: there is no Terminal.
Terminal::~Terminal() = default;
Screen Terminal::screen() const { return {}; }
void Terminal::show(const Canvas&) {}
std::optional<Input> Terminal::next(int) { return {}; }
bool Terminal::copy(std::string_view) { return false; }
void Terminal::redraw() {}
void Terminal::suspend() {}

void Terminal::wake_up() {}  // nobody waits

}  // namespace maskctl::app::tui
