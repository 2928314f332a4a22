// The texts of --help, made from the rows of the commands.
#pragma once

#include <string>
#include <string_view>

#include "app/cli/commands/command.h"

namespace maskctl::app {

/// What variables of the environment do: name, then words.
struct Variable {
  std::string_view name, words;
};
std::span<const Variable> environment_variables();

/// The help page of the program; of a command.
std::string program_help(const OptionList& common);
std::string command_help(const Command& command, const OptionList& own, const OptionList& common);
/// The help for a call without arguments.
std::string short_help();
/// The message about a word that is not an option, command or operand; `command` is null when none
/// was given.
std::string unknown_word(std::string_view word, const Command* command, const OptionList& own,
                         const OptionList& common);

}  // namespace maskctl::app
