// The command line: parses it and runs one command.
#pragma once

namespace maskctl::app {

/// The whole run: 0 done, 2 trouble (one line on stderr says what). Never throws.
int run(int argc, char** argv);

}  // namespace maskctl::app
