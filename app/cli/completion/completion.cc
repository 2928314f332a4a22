#include "app/cli/completion/completion.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/cli/commands/command.h"
#include "app/cli/parser/command_word.h"
#include "app/cli/parser/groups.h"
#include "app/completion/values.h"
#include "maskctl/base/text.h"

namespace maskctl::app {
namespace {

using Words = std::vector<std::string>;

/// The option that a word such as "--output=x" names; null for any other word.
const Option* option_of(const std::string& word, const OptionList& own, const OptionList& common) {
  if (!word.starts_with('-')) return nullptr;
  const std::string_view name = std::string_view(word).substr(0, word.find('='));
  const Option* found = own.find(name);
  return found ? found : common.find(name);
}

/// The options and operands that may follow, given the words before the one to complete.
struct Open {
  const Option* value = nullptr;  // an option whose value comes next
  std::size_t operands = 0;       // number of operands so far
  bool ended = false;             // there was a "--": only operands may follow
  std::vector<const Option*> given;
};

Open read_words(const Words& words, const OptionList& own, const OptionList& common) {
  Open out;
  for (const std::string& word : words) {
    const Option* option = out.ended ? nullptr : option_of(word, own, common);
    if (out.value) {
      out.value = nullptr;
    } else if (option) {
      out.given.push_back(option);
      if (!option->placeholder.empty() && word.find('=') == word.npos) out.value = option;
    } else if (word == "--") {
      out.ended = true;
    } else if (!word.starts_with('-') || word == "-") {
      ++out.operands;
    }
  }
  return out;
}

/// The operand at this index (from 0). The last operand may take several words. Null if no more
/// operands are allowed.
const Option* operand_at(const OptionList& own, std::size_t index) {
  const Option* last = nullptr;
  for (const Option& option : own.options()) {
    if (!option.operand) continue;
    if (index-- == 0) return &option;
    last = &option;
  }
  return last && last->repeated ? last : nullptr;
}

void complete_command(const Part& part, Completions& out) {
  for (const Command* command : commands()) out.add(part, command->name, command->summary);
}

/// Adds an option to the candidates if it may still be given. Its short name, such as -o, is added
/// only if the user has typed exactly this name.
void complete_option(const Part& part, const Option& option, const Open& open, Completions& out) {
  const bool given = std::ranges::find(open.given, &option) != open.given.end();
  if (option.operand || (given && !option.repeated)) return;
  for (const std::string_view name : split(option.names, ',')) {
    if (name.starts_with("--") || name == part.text) out.add(part, name, option.help);
  }
}

void complete_options(const Part& part, const OptionList& own, const Open& open, Completions& out) {
  for (const Option& option : own.options()) complete_option(part, option, open, out);
  for (const Option& option : common_options().options()) {
    if (applies(option, own)) complete_option(part, option, open, out);
  }
}

void complete_operand(const Part& part, const OptionList& own, const Open& open,
                      const LineBefore& line, Completions& out) {
  const Option* operand = operand_at(own, open.operands);
  if (!operand) return complete_options(part, own, open, out);
  complete_value(operand->placeholder.empty() ? operand->names : operand->placeholder, part, line,
                 out);
}

void complete_word(const Part& part, const OptionList& own, const OptionList& common,
                   const LineBefore& line, Completions& out) {
  const Open open = read_words({line.words.begin(), line.words.end()}, own, common);
  const std::size_t equals = part.text.find('=');
  if (open.value) return complete_value(open.value->placeholder, part, line, out);
  if (open.ended || !part.text.starts_with('-')) {
    return complete_operand(part, own, open, line, out);
  }
  if (equals == part.text.npos) return complete_options(part, own, open, out);
  const Option* option = option_of(part.text, own, common);
  if (option) complete_value(option->placeholder, part.after(equals + 1), line, out);
}

Completions complete_line(std::span<const std::string> words) {
  Completions out;
  if (words.empty()) return out;
  Words before(words.begin(), words.end() - 1);
  const Part part{"", words.back()};
  const OptionList& common = common_options();
  const bool help = !before.empty() && before.front() == "help";
  if (help) before.erase(before.begin());
  const Command* command = take_command(before);
  const Open open = read_words(before, {}, common);
  if (!command && open.operands > 0) return out;  // the first word is not a command
  if (!command && !open.value && !part.text.starts_with('-')) {
    complete_command(part, out);
    if (!help) out.add(part, "help", "what a command does, and its options");
    return out;
  }
  const OptionList own = command ? options_of(*command) : OptionList();
  complete_word(part, own, common, {command ? command->name : "", before}, out);
  return out;
}

}  // namespace

Completions complete(std::span<const std::string> words) {
  try {
    return complete_line(words);
  } catch (const std::exception&) {
    return {};  // no candidates: the shell cannot show a message while it completes
  }
}

std::string completion_text(std::span<const std::string> words) {
  const Completions found = complete(words);
  std::string out;
  for (const Completions::Candidate& candidate : found.candidates()) {
    const std::string help = candidate.help.substr(0, candidate.help.find('\n'));
    out += fmt::format("{}{}{}\n", candidate.word, help.empty() ? "" : "\t", help);
  }
  switch (found.paths()) {
    case Completions::Paths::kNone:
      return out;
    case Completions::Paths::kFiles:
      return out + "\tfiles\n";
    case Completions::Paths::kFolders:
      return out + "\tdirectories\n";
  }
  return out;
}

}  // namespace maskctl::app
