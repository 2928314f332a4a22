#include "app/tui/state/follow.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/tui/state/drawn.h"
#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"

namespace maskctl::app::tui {
namespace {

template <typename T>
T* pointer_to(std::optional<T>& value) {
  return value ? &*value : nullptr;
}

/// Shows an error, or, if what is written exists, asks whether to replace it.
void say_failure(State& state, const std::string& name, const Error& error) {
  const auto overwrites = [](const Remedy& remedy) { return remedy.kind == Remedy::kOverwrite; };
  if (std::ranges::any_of(error.remedies(), overwrites)) {
    state.question = {fmt::format("{}; replace it?", error.what()), "w! " + name};
  } else {
    state.message = error.what();
  }
}

}  // namespace

void follow(const State& state, Counting& counting, Time end) {
  const View& view = state.view;
  const Index tile = view.tiled ? smallest_unit(view).q : 0;
  counting.follow({state.scene, view.batch, view.head, view.sources, tile}, end);
}

void follow(State& state, Searching& searching, Time end) {
  searching.follow(state.awaited ? pointer_to(state.looked_for) : nullptr, end);
}

void follow(State& state, ReportMaker& reports, Time end) {
  reports.follow(pointer_to(state.report), end);
}

void follow(State& state, Saving& saving, Time end) {
  try {
    if (!saving.follow(pointer_to(state.saving), end)) return;
    if (state.saving->pipeline) state.saved_pipeline = *state.saving->pipeline;
    state.message = fmt::format("wrote {}", printable(state.saving->name));
  } catch (const Error& error) {
    say_failure(state, state.saving->name, error);
  }
  state.saving.reset();
}

}  // namespace maskctl::app::tui
