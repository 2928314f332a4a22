// The mask that the program shows to those who start it with nothing.
#pragma once

#include <string>

#include "app/session/session.h"

namespace maskctl::app {

/// The mask of `demo`, drawn, and three commands to try.
std::string demo_text(const Session& session);

}  // namespace maskctl::app
