// Chooses drawing options that suit a terminal. The caller passes the terminal's traits; nothing
// here reads the environment.
#pragma once

#include "maskctl/render/text/draw.h"

namespace maskctl {

struct TerminalTraits {
  bool utf8 = false;   // the terminal shows UTF-8
  bool color = false;  // whether 256 colours are wanted and supported
  Index columns = 80;
  Index rows = 24;
};

/// The requested style, except that kAuto becomes kAscii if the terminal does not show UTF-8.
Style choose_style(Style requested, const TerminalTraits& traits);

/// Options for drawing on a terminal. One row is left for the prompt.
DrawOptions options_for(const TerminalTraits& traits);

}  // namespace maskctl
