// Completes values of options and operands, according to their placeholders.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "app/completion/candidates.h"

namespace maskctl::app {

/// The command and the words before the one to complete.
struct LineBefore {
  std::string_view command;
  std::span<const std::string> words;
};

/// Completes a value. `placeholder` is a name such as "SOURCE", or a list of choices: "a|b|c".
void complete_value(std::string_view placeholder, const Part& part, const LineBefore& line,
                    Completions& out);

/// Completes a SOURCE: a file, an array of a container, or "gen:STEP".
void complete_source(const Part& part, Completions& out);
/// Adds the literal words among choices separated by '|'.
void complete_choice(std::string_view choices, const Part& part, Completions& out);

}  // namespace maskctl::app
