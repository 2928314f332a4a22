// The texts of --help, made from the rows of the commands.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli/commands/command.h"

namespace maskctl::app {

/// Which options help shows: kAll adds those of every command.
enum class HelpScope { kOwn, kAll };
/// The help page of the program; of a command.
std::string program_help(HelpScope scope);
std::string command_help(const Command& command, const OptionList& own, HelpScope scope);
/// The help for a call without arguments.
std::string short_help();
/// The message about a word that is not an option, command or operand; `command` is null when none
/// was given.
std::string unknown_word(std::string_view word, const Command* command, const OptionList& own);

// Texts that other pages use too.

inline constexpr std::string_view kTitle =
    "look at, transform and convert transformer attention masks";
/// Lines of commands.
extern const std::string_view kExamples;
/// What a SOURCE and a PIPELINE are.
extern const std::string_view kConcepts;
inline constexpr std::string_view kEveryCommand = "Options of every command";
/// A text about all commands: `heading` for each group, followed by `line` for each command of the
/// group.
std::string by_group(const std::function<std::string(std::string_view group)>& heading,
                     const std::function<std::string(const Command& command)>& line);
/// The headings of a list, in order. The first is "", that of the command's own options.
std::vector<std::string_view> headings(const OptionList& list);
/// An option, "-o, --output DEST", or a variable of the environment, as pages list it.
struct HelpEntry {
  std::string label, words;
};
/// What stands under a heading of a command: its options, those of every command that matter to it
/// alone, and its variables.
std::vector<HelpEntry> own_entries(const OptionList& own, std::string_view heading);
/// The options of every command and all variables under a heading; one that only some commands read
/// is followed by their names.
std::vector<HelpEntry> shared_entries(std::string_view heading);
/// "0 done; 1 ...; 2 an error; 130 interrupted." `negative` is what 1 means; empty if it never is.
std::string exit_text(std::string_view negative);
inline constexpr std::string_view kAnyNegative = "a negative answer: masks differ, a check failed";

}  // namespace maskctl::app
