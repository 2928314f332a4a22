#include "app/tui/prompt.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/tui/complete.h"
#include "app/tui/find.h"
#include "maskctl/base/error.h"
#include "maskctl/base/text.h"
#include "maskctl/pipeline/parse/diagnostic.h"

namespace maskctl::app::tui {
namespace {

Index number(std::string_view text, std::string_view what) {
  if (const auto value = whole_number_from(text); value && *value >= 0) return *value;
  throw Error(Errc::kInvalidArgument,
              fmt::format("{} '{}': expected a whole number from 0 on", what, shown(text)));
}

Index member(std::string_view text, std::string_view what, Index count) {
  const Index index = number(text, what);
  if (index < count) return index;
  throw Error(Errc::kInvalidArgument,
              fmt::format("{} {}: the mask has 0 to {}", what, index, count - 1));
}

/// "37" or "37,4".
void go_to(State& state, std::string_view text) {
  const auto parts = split(text, ',');
  Place place = state.view.cursor;
  place.query = number(parts[0], "query");
  if (parts.size() > 1) place.key = number(parts[1], "key");
  state.view.cursor = place;
}

void run_command(State& state, const std::string& text, Workbench& bench) {
  const std::size_t blank = std::min(text.find(' '), text.size());
  const std::string name = text.substr(0, blank);
  const std::string rest = text.substr(std::min(blank + 1, text.size()));
  const Mask& mask = state.scene->mask;
  if (name == "q") {
    state.request = Request::kQuit;
  } else if (name == "b") {
    state.view.batch = member(rest, "batch", mask.batch());
  } else if (name == "h") {
    state.view.head = member(rest, "head", mask.heads());
  } else if (name == "w" || name == "w!") {
    if (rest.empty()) throw Error(Errc::kInvalidArgument, "w: no file; :w FILE");
    bench.save(*state.scene, state.facts().panel, rest, name == "w!");
    state.message = fmt::format("wrote {}", shown(rest));
  } else if (!name.empty() && name[0] >= '0' && name[0] <= '9') {
    go_to(state, text);
  } else if (!name.empty()) {
    throw Error(Errc::kInvalidArgument,
                fmt::format(":{}: no such command; ? shows them", shown(name)));
  }
}

/// Shows what the pipeline makes as it is typed; the last good view stays while it is wrong.
void preview(State& state, Workbench& bench) {
  state.error_at = std::string::npos;
  try {
    state.scene = bench.scene(state.line.text);
  } catch (const PipelineError& error) {
    state.message = error.what();
    state.error_at = static_cast<std::size_t>(error.position());
  } catch (const Error& error) {
    state.message = error.what();
    state.error_at = state.line.text.size();
  }
}

/// Keeps the pipeline that was typed; false if it is wrong.
bool keep_pipeline(State& state, Workbench& bench) {
  preview(state, bench);
  if (state.error_at != std::string::npos) return false;
  if (state.scene->pipeline != state.before_edit->scene->pipeline) {
    state.undo.push_back(*state.before_edit);
    state.redo.clear();
  }
  state.before_edit.reset();
  return true;
}

void close(State& state) {
  state.prompt = Prompt::kNone;
  state.error_at = std::string::npos;
  if (!state.before_edit) return;
  state.scene = state.before_edit->scene;
  state.view = state.before_edit->view;
  state.before_edit.reset();
}

void enter(State& state, Workbench& bench) {
  const Prompt prompt = state.prompt;
  const std::string text = state.line.text;
  if (prompt == Prompt::kPipeline && !keep_pipeline(state, bench)) return;
  if (!text.empty()) state.typed[prompt].push_back(text);
  close(state);
  if (prompt == Prompt::kCommand) run_command(state, text, bench);
  if (prompt == Prompt::kFind) {
    if (!text.empty()) state.target = text;
    find_next(state, Way::kForward);
  }
}

/// An older or newer line of the history; past the newest is an empty line.
void recall(State& state, bool older) {
  const std::vector<std::string>& typed = state.typed[state.prompt];
  if (older && state.recall < typed.size()) ++state.recall;
  if (!older && state.recall > 0) --state.recall;
  state.line = Line::at_end(state.recall == 0 ? "" : typed[typed.size() - state.recall]);
}

void complete(State& state) {
  const Completion found = completion(state.prompt, state.line);
  state.line = found.line;
  if (found.candidates.size() < 2) return;
  state.message.clear();
  for (const std::string& candidate : found.candidates) state.message += candidate + "  ";
}

}  // namespace

void open_prompt(State& state, Ask ask) {
  state.recall = 0;
  state.error_at = std::string::npos;
  state.prompt = ask == Ask::kCommand ? Prompt::kCommand
                 : ask == Ask::kFind  ? Prompt::kFind
                                      : Prompt::kPipeline;
  state.line = {};
  if (state.prompt != Prompt::kPipeline) return;
  state.before_edit = Version{state.scene, state.view};
  std::string text = state.scene->pipeline;
  if (ask == Ask::kAdd && !text.empty()) text += " | ";
  state.line = Line::at_end(std::move(text));
}

void take_prompt_key(State& state, const std::string& key, Workbench& bench) {
  if (key == "<Esc>") return close(state);
  if (key == "<Enter>") return enter(state, bench);
  const std::string before = state.line.text;
  if (key == "<BS>" && before.empty()) return close(state);
  if (key == "<Tab>") {
    complete(state);
  } else if (key == "<Up>" || key == "<Down>") {
    recall(state, key == "<Up>");
  } else {
    state.line.take(key);
  }
  if (state.prompt == Prompt::kPipeline && state.line.text != before) {
    const std::string candidates = std::exchange(state.message, "");
    preview(state, bench);
    if (!candidates.empty()) state.message = candidates;
  }
}

}  // namespace maskctl::app::tui
