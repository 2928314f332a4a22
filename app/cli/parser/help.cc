// Formats help pages.
#include "app/cli/parser/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "app/cli/parser/groups.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/text.h"
#include "maskctl/pipeline/parse/diagnostic.h"

namespace maskctl::app {

const std::string_view kExamples =
    "  maskctl show mask.npy\n"
    "  maskctl show seg.npy --as segments -t causal -t window:keys=128\n"
    "  maskctl gen causal:n=1024 -o causal.npy\n";

const std::string_view kConcepts =
    "SOURCE is FILE.npy, FILE.npz:KEY, FILE.h5:/DATASET, FILE.safetensors:NAME, - (standard\n"
    "input), gen:STEP (generated), or q=SOURCE,kv=SOURCE for two arrays; where several SOURCEs\n"
    "are taken also FOLDER, 'masks/*.npy' and 'FILE.npz:*'.\n"
    "PIPELINE is STEP | STEP ...; a STEP is NAME:VALUE,KEY=VALUE. -t may be repeated instead of\n"
    "writing '|', and -t @FILE reads a file. `maskctl ops` lists the steps.\n"
    "true (1) means may attend.\n";

namespace {

// Last lines of help pages, which refer to other pages.
constexpr std::string_view kMoreOfProgram =
    "`maskctl --help-all` shows the options of every command and the environment variables too.\n";
constexpr std::string_view kMoreOfCommand =
    "`maskctl {} --help-all` shows the options of every command too.\n"
    "`maskctl --help` says what a SOURCE is.\n";
constexpr std::string_view kMoreOfAll =
    "`maskctl --help-all` says what a SOURCE is, and which environment variables are read.\n";

std::string command_lines() {
  return by_group(
      [](std::string_view group) { return fmt::format("\n{}:\n", group); },
      [](const Command& row) { return fmt::format("  {:<13}{}\n", row.name, row.summary); });
}

/// The names and placeholder of an option: "-o, --output DEST".
std::string label_of(const Option& option) {
  std::string label = option.names;
  if (const auto comma = label.find(','); comma != label.npos) label.insert(comma + 1, " ");
  return option.placeholder.empty() ? label : label + " " + option.placeholder;
}

void add_options(const OptionList& list, std::string_view heading, std::vector<HelpEntry>& out) {
  for (const Option& option : list.options()) {
    if (!option.operand && option.group == heading) out.push_back({label_of(option), option.help});
  }
}

/// Adds the environment variables under a heading, each only once.
void add_variables(const OptionList& list, std::string_view heading, std::vector<HelpEntry>& out) {
  for (const Variable& variable : list.variables()) {
    const bool known = std::ranges::count(out, variable.name, &HelpEntry::label) > 0;
    if (variable.group != heading || known) continue;
    out.push_back({std::string(variable.name), std::string(variable.words)});
  }
}

/// The commands whose own help page has this entry: " (show, apply)"; empty if there are none.
std::string commands_with(const HelpEntry& entry, std::string_view heading) {
  std::vector<std::string_view> names;
  for (const Command* command : commands()) {
    const std::vector<HelpEntry> own = own_entries(options_of(*command), heading);
    if (std::ranges::count(own, entry.label, &HelpEntry::label) > 0) names.push_back(command->name);
  }
  return names.empty() ? "" : fmt::format(" ({})", joined(names, ", "));
}

/// An entry of a help page: "  -o, --output DEST    words". The words wrap at 80 columns.
std::string option_help(const std::string& label, std::string_view words) {
  constexpr std::size_t kColumn = 28;
  constexpr std::size_t kWidth = 80;
  const bool beside = label.size() + 4 <= kColumn;
  std::string out = fmt::format("  {:<{}}", label, beside ? kColumn - 2 : 0);
  std::size_t column = kColumn;
  if (!beside) out += fmt::format("\n{:{}}", "", kColumn);
  while (!words.empty()) {
    const std::string_view word = words.substr(0, words.find(' '));
    words.remove_prefix(std::min(word.size() + 1, words.size()));
    if (column > kColumn && column + 1 + word.size() > kWidth) {
      out += fmt::format("\n{:{}}", "", kColumn);
      column = kColumn;
    }
    if (column > kColumn) out += ' ';
    column += word.size() + (column > kColumn ? 1 : 0);
    out += word;
  }
  return out + "\n";
}

/// An empty line, a heading and its entries; empty if there are no entries.
std::string help_section(std::string_view heading, std::span<const HelpEntry> entries) {
  if (entries.empty()) return "";
  std::string out = fmt::format("\n{}:\n", heading);
  for (const HelpEntry& entry : entries) out += option_help(entry.label, entry.words);
  return out;
}

std::string own_sections(const OptionList& own) {
  std::string out;
  for (const std::string_view heading : headings(own)) {
    out += help_section(heading.empty() ? "Options" : heading, own_entries(own, heading));
  }
  return out;
}

std::string shared_sections() {
  std::string out;
  for (const std::string_view heading : headings(common_options())) {
    out += help_section(heading.empty() ? kEveryCommand : heading, shared_entries(heading));
  }
  return out;
}

/// False for suggestions that differ too much. Short options need this test because two edits turn
/// one into nearly any other: "--head" is no typo of "--help", unlike one with its letters
/// exchanged.
bool is_likely(std::string_view word, std::string_view option) {
  if (word.size() >= 8 || std::ranges::is_permutation(word, option)) return true;
  const std::size_t common = word.size() == option.size() ? word.size() - 1 : 3;
  return option.substr(0, common) == word.substr(0, common);
}

/// Advice about an unknown word that is similar to no known one.
std::string advice(std::string_view word, const Command* command, const OptionList& own) {
  const auto has_it = [&](const Command* other) { return options_of(*other).find(word); };
  if (!command && word.starts_with('-') && std::ranges::any_of(commands(), has_it)) {
    return "options of a command stand after its name";
  }
  if ((word == "--head" || word == "--batch") && own.find("--transform")) {
    return fmt::format("every {} is read; -t slice:{}=0 keeps one", word.substr(2), word[2]);
  }
  return command ? fmt::format("see maskctl {} --help", command->name) : "see maskctl --help";
}

}  // namespace

std::string by_group(const std::function<std::string(std::string_view group)>& heading,
                     const std::function<std::string(const Command& command)>& line) {
  std::string out;
  std::string_view last;
  for (const Command* command : commands()) {
    if (command->group != last) out += heading(command->group);
    last = command->group;
    out += line(*command);
  }
  return out;
}

std::vector<std::string_view> headings(const OptionList& list) {
  std::vector<std::string_view> out = {""};
  const auto add = [&out](std::string_view heading) {
    if (std::ranges::find(out, heading) == out.end()) out.push_back(heading);
  };
  for (const Option& option : list.options()) add(option.group);
  for (const Variable& variable : list.variables()) add(variable.group);
  return out;
}

std::vector<HelpEntry> own_entries(const OptionList& own, std::string_view heading) {
  std::vector<HelpEntry> out;
  add_options(own, heading, out);
  for (const Option& option : common_options().options()) {
    const bool here = option.group == heading && !heading.empty();
    if (here && applies(option, own)) out.push_back({label_of(option), option.help});
  }
  add_variables(own, heading, out);
  return out;
}

std::vector<HelpEntry> shared_entries(std::string_view heading) {
  std::vector<HelpEntry> out;
  add_options(common_options(), heading, out);
  add_variables(common_options(), heading, out);
  for (const Command* command : commands()) add_variables(options_of(*command), heading, out);
  for (HelpEntry& entry : out) entry.words += commands_with(entry, heading);
  return out;
}

std::string exit_text(std::string_view negative) {
  std::string out = "0 done";
  if (!negative.empty()) out += fmt::format("; 1 {}", negative);
  return out + "; 2 an error; 130 interrupted.";
}

std::string program_help(HelpScope scope) {
  const bool all = scope == HelpScope::kAll;
  return fmt::format(
      "maskctl: {}\n\n{}\nUsage: maskctl COMMAND [OPTIONS]\n{}\n{}{}\nExit status: {}\n"
      "`maskctl COMMAND --help` shows the options of a command.\n{}",
      kTitle, kExamples, command_lines(), kConcepts, all ? shared_sections() : "",
      exit_text(kAnyNegative), all ? "" : kMoreOfProgram);
}

std::string command_help(const Command& command, const OptionList& own, HelpScope scope) {
  const bool all = scope == HelpScope::kAll;
  return fmt::format(
      "maskctl {0}: {1}\n\n{2}\nUsage: maskctl {0} {3} [OPTIONS]\n{4}{5}\nExit status: {6}\n{7}",
      command.name, command.summary, command.examples, command.operands, own_sections(own),
      all ? help_section(kEveryCommand, shared_entries("")) : "", exit_text(command.negative),
      all ? std::string(kMoreOfAll) : fmt::format(kMoreOfCommand, command.name));
}

std::string short_help() {
  return fmt::format(
      "maskctl: {}\n\n{}\nUsage: maskctl COMMAND [OPTIONS]\n{}\n"
      "`maskctl --help` and `maskctl COMMAND --help` say more.\n",
      kTitle, kExamples, command_lines());
}

std::string unknown_word(std::string_view word, const Command* command, const OptionList& own) {
  word = word.substr(0, word.find('='));
  const bool is_option = word.starts_with('-');
  std::vector<std::string> names;
  if (is_option) {
    for (const OptionList* list : {&own, &common_options()}) {
      for (const Option& option : list->options()) {
        if (!option.operand) names.push_back(option.long_name());
      }
    }
    names.emplace_back("--help");
  } else if (!command) {
    for (const Command* known : commands()) names.emplace_back(known->name);
    names.emplace_back("--version");
  }
  const char* what = is_option ? "unknown option"
                     : command ? "unexpected argument"
                               : "unknown command";
  if (!command && (word == "see" || word == "mcp")) {
    return fmt::format(
        "'{}' is a command of the Python package: run `pip install .`, or python3 -m maskctl {}",
        word, word);
  }
  const std::string_view near =
      nearest(word, std::vector<std::string_view>(names.begin(), names.end())).value_or("");
  const bool suggested = !near.empty() && (!is_option || is_likely(word, near));
  return fmt::format(
      "{}{} '{}'; {}", command ? fmt::format("{}: ", command->name) : "", what, printable(word),
      suggested ? fmt::format("did you mean '{}'?", near) : advice(word, command, own));
}

}  // namespace maskctl::app
