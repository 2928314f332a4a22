// Completion of values: what follows from the placeholder of an option or the name of an operand.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "app/cli/completion/completion.h"

namespace maskctl::app {

/// What stands before the word on its line.
struct LineBefore {
  std::string_view command;
  std::span<const std::string> words;
};

/// Completes a value. `placeholder` is a name such as "SOURCE", or choices: "a|b|c".
void complete_value(std::string_view placeholder, const Part& part, const LineBefore& line,
                    Completions& out);

/// A SOURCE: a file, an array of a container, or "gen:STEP".
void complete_source(const Part& part, Completions& out);
/// The words among choices separated by '|'.
void complete_choice(std::string_view choices, const Part& part, Completions& out);

}  // namespace maskctl::app
