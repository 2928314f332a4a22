#include "app/cli/parser/command_word.h"

#include "app/cli/parser/groups.h"

namespace maskctl::app {

const Command* find_command(std::string_view name) {
  for (const Command* command : commands()) {
    if (name == command->name || (!name.empty() && name == command->alias)) return command;
  }
  return nullptr;
}

const Command* take_command(std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--") return nullptr;
    if (word.starts_with('-')) {
      const Option* option = common_options().find(word);
      if (option && !option->placeholder.empty()) ++i;  // skip the value of the option
      continue;
    }
    const Command* found = find_command(word);
    if (found) words.erase(words.begin() + static_cast<std::ptrdiff_t>(i));
    return found;
  }
  return nullptr;
}

OptionList options_of(const Command& command) {
  OptionList out;
  command.declare(out);
  return out;
}

}  // namespace maskctl::app
