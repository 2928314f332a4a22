// Parses the command line and runs one command.
#pragma once

namespace maskctl::app {

/// Runs the whole program. Returns the exit status: 0 for success, 1 for a negative answer, 2 for
/// an error, which is reported in one line on stderr. Never throws.
int run(int argc, char** argv);

}  // namespace maskctl::app
