// The words of --help.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace maskctl::app {

struct CommandHelp {
  std::string_view name;
  std::string_view operands;  // "SOURCE..."
  std::string_view summary;
  std::string_view examples;    // lines, each ended by a line feed
  std::string_view alias = {};  // a second name
};

/// In the order in which help lists them.
std::span<const CommandHelp> command_helps();
/// The entry of a command that exists.
const CommandHelp& help_of(std::string_view name);

/// "  -o, --output DEST    words" and a line feed, the words wrapped at 80 columns.
std::string option_help(const std::string& label, std::string_view words);
/// Pages with the lines of the options filled in: examples first.
std::string program_help(std::string_view options);
std::string command_help(std::string_view name, std::string_view options);
/// For a call without arguments.
std::string short_help();
/// The message about a word that is no option, no command and no operand; `command` is empty when
/// none was named.
std::string unknown_word(std::string_view word, std::string_view command,
                         std::span<const std::string> options);

}  // namespace maskctl::app
