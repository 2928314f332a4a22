// The terminal that is looked at; the only file that knows curses.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string_view>

#include "app/tui/input.h"
#include "app/tui/state.h"

namespace maskctl::app::tui {

/// What the terminal is asked for; it may be able to do less.
struct TerminalOptions {
  bool utf8 = true;
  Colors colors = Colors::kMany;  // the most
  bool mouse = true;
};

/// Has the screen from its making to its end, which gives it back as it was. Reads keys from
/// /dev/tty, so that standard input can be a SOURCE and standard output a file.
class Terminal {
 public:
  /// Throws Error(kUnsupported) without a terminal, and for one that curses does not know.
  Terminal(const TerminalOptions& options, std::stop_token stop);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  Screen screen() const;
  void show(const Canvas& canvas);
  /// The next input. Waits for it so long (-1: for ever) without using the processor; nothing when
  /// there is none by then, or the stop token asks to stop.
  std::optional<Input> next(int milliseconds);
  /// Puts a text into the clipboard of the terminal (OSC 52); false if it cannot do that.
  bool copy(std::string_view text);
  /// Lets next() return kDone; may be called on any thread, also when there is no terminal yet.
  static void wake_up();
  /// Draws everything anew with the next show().
  void redraw();
  /// Gives the screen back and stops the process, until the shell continues it.
  void suspend();

 private:
  struct Curses;
  std::unique_ptr<Curses> curses_;
};

}  // namespace maskctl::app::tui
