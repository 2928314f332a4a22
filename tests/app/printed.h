// Runs a command on arrays in memory, inside the test process: starting the program takes a
// thousand times as long.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/commands/command.h"
#include "app/session/session.h"

namespace maskctl::test {

struct Printed {
  std::string text;
  std::vector<std::string> notes;
  int status = 0;
};

using Arrays = std::vector<std::pair<std::string, Tensor>>;

/// Runs a command on SOURCEs that are `arrays`. `options`: names, each with its value, which is
/// empty for a flag. Throws what the command throws.
inline Printed printed(const std::string& command, const Arrays& arrays,
                       const std::vector<std::string>& operands,
                       const std::vector<std::pair<std::string, std::string>>& options = {}) {
  Printed out;
  app::OptionList list;
  const app::Run run = app::find_command(command)->declare(list);
  auto operand = operands.begin();
  for (const app::Option& option : list.options()) {
    if (option.operand && operand != operands.end()) option.take(*operand++);
  }
  for (const auto& [name, value] : options) {
    const app::Option* option = list.find(name);
    if (!option) throw std::invalid_argument(name);
    option->take(value);
  }
  app::Session session({}, {.note = [&out](std::string_view text) { out.notes.emplace_back(text); },
                            .progress = {}});
  for (const auto& [name, array] : arrays) session.give(name, array);
  app::Answer answer = run(session);
  out.text = std::move(answer.text);
  out.status = answer.status;
  return out;
}

}  // namespace maskctl::test
