#include "app/tui/state/complete.h"

#include <algorithm>
#include <string_view>

#include "app/completion/pipelines.h"
#include "app/tui/state/actions.h"
#include "app/tui/state/commands.h"

namespace maskctl::app::tui {
namespace {

/// Completes the name of a command, or, after a blank, the name of a file.
void complete_command(const std::string& before, Completions& out) {
  const std::size_t blank = before.find(' ');
  if (blank != std::string::npos) {
    const std::size_t file = blank + (before.substr(blank).starts_with(" @") ? 2 : 1);
    return out.add_paths({before.substr(0, file), before.substr(file)});
  }
  std::string_view last;
  for (const Command& command : commands()) {
    if (!command.name.empty() && command.name != last) out.add({"", before}, command.name);
    last = command.name;
  }
}

Completions completions(Prompt prompt, const std::string& before) {
  Completions out;
  if (prompt == Prompt::kPipeline) complete_pipeline({"", before}, out);
  if (prompt == Prompt::kFind) {
    for (const TargetHelp& target : targets()) out.add({"", before}, target.name);
  }
  if (prompt == Prompt::kCommand) complete_command(before, out);
  return out;
}

std::string common_start(std::span<const Completions::Candidate> candidates) {
  std::string out = candidates.front().word;
  for (const auto& [word, help] : candidates) {
    out.erase(std::ranges::mismatch(out, word).in1, out.end());
  }
  return out;
}

}  // namespace

Completion completion(Prompt prompt, const Line& line) {
  const std::string before = line.text.substr(0, line.caret);
  const Completions found = completions(prompt, before);
  Completion out{line, {}};
  if (found.candidates().empty()) return out;
  const std::string start = common_start(found.candidates());
  out.line = {start + line.text.substr(line.caret), start.size()};
  const std::size_t word = before.find_last_of(" |{:,=@/") + 1;
  for (const auto& candidate : found.candidates()) {
    out.candidates.push_back(candidate.word.substr(word));
  }
  return out;
}

}  // namespace maskctl::app::tui
