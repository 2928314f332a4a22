// Lays out help pages.
#include "app/cli/parser/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "app/cli/parser/groups.h"
#include "maskctl/pipeline/parse/diagnostic.h"

namespace maskctl::app {

const std::string_view kExamples =
    "  maskctl show mask.npy\n"
    "  maskctl show seg.npy --as segments -t causal -t window:keys=128\n"
    "  maskctl gen causal:n=1024 -o causal.npy\n";

const std::string_view kConcepts =
    "SOURCE is FILE.npy, FILE.npz:KEY, FILE.h5:/DATASET, FILE.safetensors:NAME, - (standard\n"
    "input), gen:STEP (generated), or q=SOURCE,kv=SOURCE for two arrays.\n"
    "PIPELINE is STEP | STEP ...; a STEP is NAME:VALUE,KEY=VALUE. -t may be repeated instead of\n"
    "writing '|', and -t @FILE reads a file. `maskctl ops` lists the steps.\n"
    "true (1) means may attend. ejkernel is a JAX library of attention kernels; --semantics "
    "ejkernel\n"
    "follows its mask type MaskInfo to the letter, oddities included.\n";

namespace {

constexpr Variable kVariables[] = {
    {"MASKCTL_MAX_BYTES", "as --max-bytes"},
    {"MASKCTL_THREADS", "as --threads"},
    {"MASKCTL_COLOR", "as --color; NO_COLOR and CLICOLOR_FORCE hold where it is auto"},
    {"CI", "no progress, and golden files are not updated"},
    {"GITHUB_ACTIONS", "golden check prints annotations"},
    {"EJKERNEL_MASK_DEBUG", "1: as --trace"},
    {"EJKERNEL_AUTOTUNE_POLICY", "as --policy of attend"},
};

std::string command_lines() {
  return by_group(
      [](std::string_view group) { return fmt::format("\n{}:\n", group); },
      [](const Command& row) { return fmt::format("  {:<12}{}\n", row.name, row.summary); });
}

/// "  -o, --output DEST    words" and a newline, with the words wrapped at 80 columns.
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

/// The options that stand under `heading`.
std::string option_lines(const OptionList& list, std::string_view heading) {
  std::string out;
  for (const Option& option : list.options()) {
    if (!option.operand && option.group == heading)
      out += option_help(label_of(option), option.help);
  }
  return out;
}

std::string variable_lines() {
  std::string out;
  for (const Variable& variable : kVariables) {
    out += option_help(std::string(variable.name), variable.words);
  }
  return out;
}

/// Two edits turn a short option into nearly any other: "--head" is not "--help".
bool is_likely(std::string_view word, std::string_view option) {
  if (word.size() >= 8) return true;
  const std::size_t common = word.size() == option.size() ? word.size() - 1 : 3;
  return option.substr(0, common) == word.substr(0, common);
}

/// What to do about a word that resembles none that is known here.
std::string advice(std::string_view word, const Command* command, const OptionList& own) {
  const auto has_it = [&](const Command* other) { return options_of(*other).find(word); };
  if (!command && word.starts_with('-') && std::ranges::any_of(kCommands, has_it)) {
    return "options of a command stand after its name";
  }
  if ((word == "--head" || word == "--batch") && own.find("--transform")) {
    return fmt::format("every {} is read; -t slice:{}=0 keeps one", word.substr(2), word[2]);
  }
  return command ? fmt::format("see maskctl {} --help", command->name) : "see maskctl --help";
}

}  // namespace

std::string label_of(const Option& option) {
  std::string label = option.names;
  if (const auto comma = label.find(','); comma != label.npos) label.insert(comma + 1, " ");
  return option.placeholder.empty() ? label : label + " " + option.placeholder;
}

std::string by_group(const std::function<std::string(std::string_view group)>& heading,
                     const std::function<std::string(const Command& command)>& line) {
  std::string out;
  std::string_view last;
  for (const Command* command : kCommands) {
    if (command->group != last) out += heading(command->group);
    last = command->group;
    out += line(*command);
  }
  return out;
}

std::vector<std::string_view> headings(const OptionList& list) {
  std::vector<std::string_view> out = {""};
  for (const Option& option : list.options()) {
    if (std::ranges::find(out, option.group) == out.end()) out.push_back(option.group);
  }
  return out;
}

std::string exit_text(std::string_view negative) {
  std::string out = "0 done";
  if (!negative.empty()) out += fmt::format("; 1 {}", negative);
  return out + "; 2 an error; 130 interrupted.";
}

std::span<const Variable> environment_variables() { return kVariables; }

std::string program_help() {
  return fmt::format(
      "maskctl: {}\n\n{}\nUsage: maskctl COMMAND [OPTIONS]\n{}\n{}\nOptions of every "
      "command:\n{}\nEnvironment:\n{}\nExit status: {}\n",
      kTitle, kExamples, command_lines(), kConcepts, option_lines(common_options(), ""),
      variable_lines(), exit_text(kAnyNegative));
}

std::string command_help(const Command& command, const OptionList& own) {
  std::string out =
      fmt::format("maskctl {}: {}\n\n{}\nUsage: maskctl {} {} [OPTIONS]\n", command.name,
                  command.summary, command.examples, command.name, command.operands);
  for (const std::string_view heading : headings(own)) {
    const std::string lines = option_lines(own, heading);
    if (lines.empty()) continue;
    out += fmt::format("\n{}:\n{}", heading.empty() ? "Options" : heading, lines);
  }
  return out +
         fmt::format(
             "\nEvery command:\n{}\nExit status: {}\n`maskctl --help` says what a SOURCE is, and "
             "which environment variables are read.\n",
             option_lines(common_options(), ""), exit_text(command.negative));
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
  } else if (!command) {
    for (const Command* known : kCommands) names.emplace_back(known->name);
  }
  const char* what = is_option ? "unknown option"
                     : command ? "unexpected argument"
                               : "unknown command";
  const std::string_view near =
      nearest(word, std::vector<std::string_view>(names.begin(), names.end())).value_or("");
  const bool suggested = !near.empty() && (!is_option || is_likely(word, near));
  return fmt::format(
      "{}{} '{}'; {}", command ? fmt::format("{}: ", command->name) : "", what, shown(word),
      suggested ? fmt::format("did you mean '{}'?", near) : advice(word, command, own));
}

}  // namespace maskctl::app
