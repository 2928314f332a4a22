#include "app/tui/state/prompt.h"

#include <utility>

#include "app/tui/state/commands.h"
#include "app/tui/state/complete.h"
#include "app/tui/state/find.h"
#include "app/tui/state/history.h"
#include "maskctl/base/error.h"
#include "maskctl/mask/cell.h"

namespace maskctl::app::tui {
namespace {

void close(State& state) {
  state.prompt = Prompt::kNone;
  state.change.reset();
  state.preview_due = false;
  state.error_at = std::string::npos;
  if (!state.before_edit) return;
  state.scene = state.before_edit->scene;
  state.view = state.before_edit->view;
  state.before_edit.reset();
}

/// The filter that is being typed; null if something else is.
std::string* filter_of(State& state) {
  if (state.prompt == Prompt::kListFilter) return &state.list.filter;
  return state.prompt == Prompt::kPageFilter ? &state.filter : nullptr;
}

void enter(State& state, Workbench& bench) {
  const Prompt prompt = state.prompt;
  const std::string text = state.line.text;
  if (prompt == Prompt::kPipeline) {
    state.preview_due = false;
    state.error_at = std::string::npos;
    state.change = PendingChange{Change::kKeep, {text}};
    return;
  }
  if (!text.empty()) state.typed[prompt].push_back(text);
  close(state);
  if (prompt == Prompt::kCommand) run_command(state, bench, text);
  if (prompt == Prompt::kFind && cell_from(text)) return run_command(state, bench, text);
  if (prompt == Prompt::kFind) {
    if (!text.empty()) state.target = text;
    find(state, {}, 1);
  }
}

/// Shows an older or newer line of the history. After the newest, the line is empty.
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
  if (ask == Ask::kEdit || ask == Ask::kAdd) {
    std::string text = state.scene->pipeline;
    if (ask == Ask::kAdd && !text.empty()) text += " | ";
    return open_pipeline(state, Line::at_end(std::move(text)));
  }
  state.recall = 0;
  state.prompt = ask == Ask::kCommand      ? Prompt::kCommand
                 : ask == Ask::kListFilter ? Prompt::kListFilter
                 : ask == Ask::kPageFilter ? Prompt::kPageFilter
                                           : Prompt::kFind;
  const std::string* filter = filter_of(state);
  state.line = Line::at_end(filter ? *filter : "");
}

void open_pipeline(State& state, Line line) {
  state.recall = 0;
  state.error_at = std::string::npos;
  state.prompt = Prompt::kPipeline;
  state.line = std::move(line);
  state.before_edit = BeforeEdit{state.scene, state.view};
}

void keep_typed(State& state, ScenePtr scene) {
  state.scene = std::move(scene);
  const BeforeEdit& before = *state.before_edit;
  if (state.scene->pipeline != before.scene->pipeline) {
    remember(state, {before.scene->pipeline, before.view});
  }
  state.before_edit.reset();
  if (!state.line.text.empty()) state.typed[Prompt::kPipeline].push_back(state.line.text);
  close(state);
}

void show_preview(State& state) {
  if (!state.preview_due) return;
  state.preview_due = false;
  state.error_at = std::string::npos;
  state.change = PendingChange{Change::kPreview, {state.line.text}};
}

void take_prompt_key(State& state, const std::string& key, Workbench& bench) {
  if (key == "<Esc>") {
    if (std::string* filter = filter_of(state)) filter->clear();
    return close(state);
  }
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
  // Check the pipeline again if it has changed, or after any key if it has an error, so that the
  // error message is shown again.
  if (std::string* filter = filter_of(state)) *filter = state.line.text;
  const bool wrong = state.error_at != std::string::npos;
  if (state.prompt == Prompt::kPipeline && state.line.text != before) state.change.reset();
  state.preview_due |= state.prompt == Prompt::kPipeline && (wrong || state.line.text != before);
}

}  // namespace maskctl::app::tui
