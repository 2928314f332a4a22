// A command of the user's that judges the results of a kernel.
#pragma once

#include <string>

#include "maskctl/verify/mutants/rules.h"

namespace maskctl::app {

/// Throws Error(kInvalidArgument) if the command does not say where the file goes: "{}".
void check_judge(const std::string& command);

/// Runs the command by /bin/sh, with the path in quotes in the place of each "{}". What it prints
/// goes to `log`, a file. Exit status 0: kAccepts, 1: kRefuses; anything else is kError, with the
/// status and the last line printed as text. A stop request of the WorkScope ends the command, and
/// throws Error(kCancelled).
attention::RuleVerdict ask_judge(const std::string& command, const std::string& path,
                                 const std::string& log);

}  // namespace maskctl::app
