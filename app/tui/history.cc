#include "app/tui/history.h"

#include <utility>

namespace maskctl::app::tui {
namespace {

void go(State& state, Workbench& bench, std::vector<Version>& from, std::vector<Version>& to) {
  ScenePtr scene = bench.scene(from.back().pipeline);
  to.push_back({state.scene->pipeline, state.view});
  state.scene = std::move(scene);
  state.view = from.back().view;
  from.pop_back();
}

}  // namespace

void remember(State& state, Version version) {
  state.undo.push_back(std::move(version));
  if (state.undo.size() > kMostVersions) state.undo.erase(state.undo.begin());
  state.redo.clear();
}

void change_pipeline(State& state, Workbench& bench, const std::string& pipeline) {
  if (pipeline == state.scene->pipeline) return;
  ScenePtr scene = bench.scene(pipeline);
  remember(state, {state.scene->pipeline, state.view});
  state.scene = std::move(scene);
}

void undo(State& state, Workbench& bench) {
  if (!state.undo.empty()) return go(state, bench, state.undo, state.redo);
  state.message = "nothing to undo";
}

void redo(State& state, Workbench& bench) {
  if (!state.redo.empty()) return go(state, bench, state.redo, state.undo);
  state.message = "nothing to redo";
}

}  // namespace maskctl::app::tui
