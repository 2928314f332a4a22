// The terminal. Only this file and terminal.cc use curses.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string_view>
#include <vector>

#include "app/tui/state/input.h"
#include "app/tui/state/state.h"

namespace maskctl::app::tui {

/// What the terminal should support; it may support less.
struct TerminalOptions {
  bool utf8 = true;
  Colors colors = Colors::kMany;  // the most colours to use
  bool mouse = true;
  std::vector<Input>* record = nullptr;  // gets the size of the screen, and each input of the user
};

/// Owns the screen; the destructor restores it. Reads keys from /dev/tty, so that standard input
/// can be a SOURCE and standard output can be a file.
class Terminal {
 public:
  /// Throws Error(kUnsupported) if there is no terminal, or if curses does not know it.
  Terminal(const TerminalOptions& options, std::stop_token stop);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  Screen screen() const;
  void show(const Canvas& canvas);
  /// Waits for the next input, at most `milliseconds` (-1: forever), without using CPU time.
  /// Nothing on timeout, or if a stop is requested.
  std::optional<Input> next(int milliseconds);
  /// Copies text to the clipboard of the terminal (OSC 52); false if the terminal does not support
  /// that.
  bool copy(std::string_view text);
  /// Makes next() return kDone. May be called on any thread, even before a Terminal exists.
  static void wake_up();
  /// Makes the next show() redraw the whole screen.
  void redraw();
  /// Restores the screen and suspends the process until the shell continues it.
  void suspend();

 private:
  std::optional<Input> wait_for_input(int milliseconds);

  struct Curses;
  std::unique_ptr<Curses> curses_;
  std::vector<Input>* record_;
};

}  // namespace maskctl::app::tui
