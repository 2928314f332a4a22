// Runs the inspector on a terminal, or plays a script.
#pragma once

#include <string_view>
#include <vector>

#include "app/tui/screens/painter.h"
#include "app/tui/terminal.h"
#include "app/tui/update.h"

namespace maskctl::app::tui {

/// Runs until the user quits or a stop is requested. Throws like Terminal and Workbench.
void inspect(const Subject& subject, const Settings& settings, const TerminalOptions& options,
             const std::stop_token& stop);

/// The result of playing a script.
struct Played {
  Canvas screen;  // the screen after the last input
  /// For each input, the milliseconds until its screen was complete.
  std::vector<double> milliseconds;
};

/// Plays the inputs of a script and draws a complete screen after each.
Played play(const Subject& subject, const Settings& settings, const Screen& screen,
            std::string_view script);

}  // namespace maskctl::app::tui
