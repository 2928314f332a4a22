// Makes the texts of --help from the declarations of the commands.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli/commands/command.h"

namespace maskctl::app {

/// Which options a help page shows. kAll adds those of every command.
enum class HelpScope { kOwn, kAll };
/// The help page of the program, and that of a command.
std::string program_help(HelpScope scope);
std::string command_help(const Command& command, const OptionList& own, HelpScope scope);
/// The text printed when the program is called without arguments.
std::string short_help();
/// The error message about a word that is not an option, command or operand. `command` is null if
/// none was named.
std::string unknown_word(std::string_view word, const Command* command, const OptionList& own);

// Texts that manual pages use, too.

inline constexpr std::string_view kTitle =
    "look at, transform and convert transformer attention masks";
/// Example command lines.
extern const std::string_view kExamples;
/// Explains what a SOURCE and a PIPELINE are.
extern const std::string_view kConcepts;
inline constexpr std::string_view kEveryCommand = "Options of every command";
/// A text about all commands: for each group, `heading(group)` and then `line(command)` for each of
/// its commands.
std::string by_group(const std::function<std::string(std::string_view group)>& heading,
                     const std::function<std::string(const Command& command)>& line);
/// The headings of a list, in order. The first is "", that of the command's own options.
std::vector<std::string_view> headings(const OptionList& list);
/// An entry of a help page: an option ("-o, --output DEST") or an environment variable.
struct HelpEntry {
  std::string label, words;
};
/// The entries under a heading of a command's help page: its own options, the options of every
/// command that have this heading, too, and its environment variables.
std::vector<HelpEntry> own_entries(const OptionList& own, std::string_view heading);
/// The entries under a heading for all commands: the options of every command, and all environment
/// variables. An entry that only some commands have ends with their names.
std::vector<HelpEntry> shared_entries(std::string_view heading);
/// The meanings of the exit statuses: "0 done; 1 ...; 2 an error; 130 interrupted." `negative` is
/// the meaning of 1; empty if it does not occur.
std::string exit_text(std::string_view negative);
inline constexpr std::string_view kAnyNegative = "a negative answer: masks differ, a check failed";

}  // namespace maskctl::app
