// The texts of --help.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace maskctl::app {

struct CommandHelp {
  std::string_view name;
  std::string_view operands;  // "SOURCE..."
  std::string_view summary;
  std::string_view examples;    // lines, each with a newline
  std::string_view alias = {};  // a second name
};

/// In the order in which help lists them.
std::span<const CommandHelp> command_helps();
/// The entry of an existing command.
const CommandHelp& help_of(std::string_view name);

/// "  -o, --output DEST    words" and a newline, with the words wrapped at 80 columns.
std::string option_help(const std::string& label, std::string_view words);
/// The help pages, with the lines of the options filled in; examples come first.
std::string program_help(std::string_view options);
std::string command_help(std::string_view name, std::string_view options);
/// The help for a call without arguments.
std::string short_help();
/// The message about a word that is not an option, command or operand; `command` is empty when none
/// was given.
std::string unknown_word(std::string_view word, std::string_view command,
                         std::span<const std::string> options);

}  // namespace maskctl::app
