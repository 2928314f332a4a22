#include "app/tui/complete.h"

#include <algorithm>
#include <string_view>

#include "app/tui/actions.h"
#include "maskctl/pipeline/steps/step_infos.h"

namespace maskctl::app::tui {
namespace {

using Words = std::vector<std::string>;

Words step_names() {
  Words out;
  for (const StepInfo& info : step_infos()) out.emplace_back(info.name);
  return out;
}

/// What can stand at the end of `step`, a step with a part of its arguments: the names of those.
Words argument_names(std::string_view step) {
  Words out;
  const StepInfo* info = find_step(step.substr(0, step.find(':')));
  if (!info) return out;
  for (const ArgumentInfo& argument : info->args) {
    if (!argument.positional) out.push_back(std::string(argument.name) + "=");
  }
  return out;
}

Words pipeline_words(std::string_view before) {
  std::string_view step = before.substr(before.find_last_of("|{") + 1);
  step.remove_prefix(std::min(step.find_first_not_of(' '), step.size()));
  return step.find(':') == step.npos ? step_names() : argument_names(step);
}

Words words_for(Prompt prompt, std::string_view before) {
  if (prompt == Prompt::kPipeline) return pipeline_words(before);
  Words out;
  if (prompt == Prompt::kFind) {
    for (const TargetHelp& target : targets()) out.emplace_back(target.name);
  }
  return out;
}

std::string common_start(const Words& words) {
  std::string out = words.front();
  for (const std::string& word : words) {
    out.erase(std::ranges::mismatch(out, word).in1, out.end());
  }
  return out;
}

}  // namespace

Completion completion(Prompt prompt, const Line& line) {
  const std::string_view before = std::string_view(line.text).substr(0, line.caret);
  const std::string_view typed = before.substr(before.find_last_of(" |{:,") + 1);
  Completion out{line, words_for(prompt, before)};
  std::erase_if(out.candidates, [&](const std::string& word) { return !word.starts_with(typed); });
  if (out.candidates.empty()) return out;
  out.line.take(common_start(out.candidates).substr(typed.size()));
  return out;
}

}  // namespace maskctl::app::tui
