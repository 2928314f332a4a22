// The command line: parses it and runs one command.
#pragma once

namespace maskctl::app {

/// Runs the whole program: returns 0 for success, 1 for a negative answer, 2 for trouble (with one
/// line on stderr). Never throws.
int run(int argc, char** argv);

}  // namespace maskctl::app
