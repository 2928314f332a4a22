#include "app/tui/state/step_keys.h"

#include <algorithm>
#include <utility>

#include "app/tui/beside/steps.h"
#include "app/tui/state/history.h"
#include "app/tui/state/prompt.h"

namespace maskctl::app::tui {
namespace {

using Steps = std::vector<EditStep>;

/// Opens the pipeline for editing, with the cursor after the selected step; with `add`, after a new
/// " | ".
void edit(State& state, const Steps& steps, bool add) {
  Line line{join_steps(steps), as_size(step_ranges(steps)[as_size(*state.step)].end)};
  if (add) {
    line.text.insert(line.caret, " | ");
    line.caret += 3;
  }
  open_pipeline(state, std::move(line));
}

/// The index of the step `by` steps after the selected one, clamped to the pipeline.
Index moved(const State& state, const Steps& steps, Index by) {
  return std::clamp<Index>(*state.step + by, 0, std::ssize(steps) - 1);
}

}  // namespace

void select_steps(State& state) {
  const Index steps = std::ssize(split_steps(state.scene->pipeline));
  if (steps == 0) {
    state.message = "the pipeline has no steps yet: type one; <Tab> completes";
    return open_prompt(state, Ask::kAdd);
  }
  state.step = state.step ? std::nullopt : std::optional(steps - 1);
}

void take_step_key(State& state, StepKey key, Index times) {
  Steps steps = split_steps(state.scene->pipeline);
  const auto at = steps.begin() + *state.step;
  switch (key) {
    case StepKey::kPrevious:
      state.step = moved(state, steps, -times);
      return;
    case StepKey::kNext:
      state.step = moved(state, steps, times);
      return;
    case StepKey::kLeave:
      state.step.reset();
      return;
    case StepKey::kEdit:
      return edit(state, steps, false);
    case StepKey::kAdd:
      return edit(state, steps, true);
    case StepKey::kRemove:
      steps.erase(at);
      break;
    case StepKey::kSwitch:
      at->on = !at->on;
      break;
    case StepKey::kBack:
    case StepKey::kForward: {
      const Index to = moved(state, steps, key == StepKey::kBack ? -1 : 1);
      std::iter_swap(at, steps.begin() + to);
      return change_pipeline(state, join_steps(steps), to);
    }
  }
  change_pipeline(state, join_steps(steps));
}

}  // namespace maskctl::app::tui
