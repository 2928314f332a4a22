#include "app/tui/state/history.h"

#include <fmt/format.h>

#include <utility>

#include "app/tui/state/prompt.h"
#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/pipeline/parse/diagnostic.h"

namespace maskctl::app::tui {
namespace {

void go(State& state, ScenePtr scene, std::vector<Version>& from, std::vector<Version>& to) {
  to.push_back({state.scene->pipeline, state.view});
  state.scene = std::move(scene);
  state.view = from.back().view;
  from.pop_back();
}

void make(State& state, const PendingChange& change, ScenePtr scene) {
  switch (change.change) {
    case Change::kPreview:
      state.scene = std::move(scene);
      return;
    case Change::kKeep:
      return keep_typed(state, std::move(scene));
    case Change::kUndo:
      return go(state, std::move(scene), state.undo, state.redo);
    case Change::kRedo:
      return go(state, std::move(scene), state.redo, state.undo);
    case Change::kReplace:
      remember(state, {state.scene->pipeline, state.view});
      state.scene = std::move(scene);
      if (change.step) state.step = change.step;
      return;
    case Change::kDocuments:
      state.scene = std::move(scene);
      state.message = fmt::format("documents of {}; n goes to leaks",
                                  printable(change.asked.documents->source));
  }
}

bool is_typed(const State& state) {
  return state.change->change == Change::kPreview || state.change->change == Change::kKeep;
}

/// Shows the error in a pipeline that is being typed. The last valid mask stays on the screen.
void say_mistake(State& state, const Error& error, std::size_t at) {
  state.change.reset();
  if (state.message.empty()) state.message = error.what();
  state.error_at = at;
}

void make_when_ready(State& state, Workbench& bench, Time end) {
  ScenePtr scene = bench.scene_by(state.change->asked, end);
  if (!scene) {
    state.change->fraction = bench.fraction();
    return;
  }
  const PendingChange change = *std::exchange(state.change, std::nullopt);
  make(state, change, std::move(scene));
}

}  // namespace

void remember(State& state, Version version) {
  state.undo.push_back(std::move(version));
  if (state.undo.size() > kMostVersions) state.undo.erase(state.undo.begin());
  state.redo.clear();
}

bool can_change(State& state) {
  if (!state.change) return true;
  state.message = "the mask after the last change is being made; <Esc> stops that";
  return false;
}

void change_pipeline(State& state, const std::string& pipeline, std::optional<Index> step) {
  if (pipeline == state.scene->pipeline) return;
  state.change = PendingChange{Change::kReplace, {pipeline}, step};
}

void undo(State& state) {
  if (state.undo.empty()) {
    state.message = "nothing to undo";
  } else {
    state.change = PendingChange{Change::kUndo, {state.undo.back().pipeline}};
  }
}

void redo(State& state) {
  if (state.redo.empty()) {
    state.message = "nothing to redo";
  } else {
    state.change = PendingChange{Change::kRedo, {state.redo.back().pipeline}};
  }
}

void follow_change(State& state, Workbench& bench, Time end) {
  if (!state.change) return bench.stop_making();
  if (!is_typed(state)) {
    try {
      return make_when_ready(state, bench, end);
    } catch (const Error&) {
      state.change.reset();
      throw;
    }
  }
  const std::size_t size = state.line.text.size();
  try {
    make_when_ready(state, bench, end);
  } catch (const PipelineError& error) {
    say_mistake(state, error, static_cast<std::size_t>(error.position()));
  } catch (const Error& error) {
    say_mistake(state, error, size);
  }
}

}  // namespace maskctl::app::tui
