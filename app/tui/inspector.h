// The inspector as a whole: on a terminal, or played from a script.
#pragma once

#include <string_view>
#include <vector>

#include "app/tui/painter.h"
#include "app/tui/terminal.h"
#include "app/tui/update.h"

namespace maskctl::app::tui {

/// Until the reader quits, or the stop token asks to stop. Throws as Terminal and Workbench do.
void inspect(const Subject& subject, const Settings& settings, const TerminalOptions& options,
             const std::stop_token& stop);

/// What became of a script.
struct Played {
  Canvas screen;  // the last one
  /// From each input to its finished screen, of which all is known, in milliseconds.
  std::vector<double> milliseconds;
};

/// Plays the inputs of a script, and draws each screen.
Played play(const Subject& subject, const Settings& settings, const Screen& screen,
            std::string_view script);

}  // namespace maskctl::app::tui
