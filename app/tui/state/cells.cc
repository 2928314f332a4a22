#include "app/tui/state/cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/tui/state/history.h"
#include "maskctl/mask/steps/chain_text.h"
#include "maskctl/mask/steps/region.h"

namespace maskctl::app::tui {
namespace {

Range between(Index a, Index b) { return {std::min(a, b), std::max(a, b) + 1}; }

/// The step, in braces that restrict it to the batch and head that are shown.
std::string restricted(const State& state, std::string step) {
  const Scene& scene = *state.scene;
  if (scene.mask.heads() > 1) step = fmt::format("heads:{}{{{}}}", state.view.head, step);
  // If one batch entry is repeated for all documents, the steps of the pipeline make only that one.
  const bool batches = scene.mask.batch() > 1 && !scene.one_for_all;
  return batches ? fmt::format("batch:{}{{{}}}", state.view.batch, step) : step;
}

void switch_cells(State& state) {
  const auto [queries, keys] = selection_of(state);
  const Plane& plane = *state.scene->mask.plane(state.view.batch, state.view.head);
  const bool open = plane.classify(queries, keys) != Fill::kFull;
  const Step step = step::Region{.open = open, .q = {queries}, .k = {keys}};
  const std::string text = restricted(state, to_text(Chain{step}));
  const std::string& pipeline = state.scene->pipeline;
  state.anchor.reset();
  change_pipeline(state, pipeline.empty() ? text : pipeline + " | " + text);
}

}  // namespace

Selection selection_of(const State& state) {
  const Place cursor = state.view.cursor, anchor = state.anchor.value_or(cursor);
  const Mask& mask = state.scene->mask;
  return {between(std::min(anchor.query, mask.queries() - 1), cursor.query),
          between(std::min(anchor.key, mask.keys() - 1), cursor.key)};
}

void take_cell_key(State& state, CellKey key) {
  if (key == CellKey::kSwitch) return switch_cells(state);
  state.anchor = state.anchor ? std::nullopt : std::optional(state.view.cursor);
}

}  // namespace maskctl::app::tui
